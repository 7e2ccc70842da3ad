"""Programs that read untrusted files in a process of their own (`wizard.kernel.fenced`); nothing imports them."""
