"""The code of the serving stacks, a package each; stages find it by entry points (`wizard.catalog.plugins`)."""
