// textual.js makes the terminal but does not focus it: without this every user would have to click before typing.
new MutationObserver((_, observer) => {
  const field = document.querySelector(".textual-terminal.-connected .xterm-helper-textarea");
  if (field) {
    observer.disconnect();
    field.focus();
  }
}).observe(document, { attributes: true, childList: true, subtree: true });
