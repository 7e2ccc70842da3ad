// What a page can add to textual.js, before which page.html loads it.

// It makes the terminal but does not focus it: without this every user would have to click before typing.
new MutationObserver((_, observer) => {
  const field = document.querySelector(".textual-terminal.-connected .xterm-helper-textarea");
  if (field) {
    observer.disconnect();
    field.focus();
  }
}).observe(document, { attributes: true, childList: true, subtree: true });

// It keeps the connection to itself; keys that its terminal cannot tell have to be sent on another way.
let connection;
window.WebSocket = class extends WebSocket {
  constructor(...given) {
    super(...given);
    connection = this;
  }
};

// Keys that xterm.js tells as others (Shift+Enter as Enter, Alt with an arrow as Ctrl with it), and what kitty's protocol
// has for them: sw.kovidgoyal.net/kitty/keyboard-protocol.
const TOLD_WRONG = {
  "Shift+Enter": "\x1b[13;2u",
  "Alt+ArrowLeft": "\x1b[1;3D",
  "Alt+ArrowRight": "\x1b[1;3C",
};
window.addEventListener("keydown", (event) => {
  if (event.isComposing || !event.target.matches(".xterm-helper-textarea")) return;
  const held = ["Ctrl", "Alt", "Shift", "Meta"].filter((name) => event[`${name.toLowerCase()}Key`]);
  const key = [...held, event.key.length > 1 ? event.key : event.key.toLowerCase()].join("+");
  if (key === "Ctrl+v") {
    event.stopPropagation(); // the browser pastes, and xterm.js sends what is pasted; by itself it would send ^V
  } else if (key in TOLD_WRONG) {
    event.preventDefault();
    event.stopPropagation();
    connection.send(JSON.stringify(["stdin", TOLD_WRONG[key]]));
  }
}, true);

// With the page its wizard ends, and Ctrl+W, which deletes a word in a terminal, is the browser's: it asks before it closes.
window.addEventListener("beforeunload", (event) => {
  if (connection?.readyState === WebSocket.OPEN) event.preventDefault();
});
