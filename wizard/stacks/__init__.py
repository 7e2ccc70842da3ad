"""All code of each serving stack, one package for each; stages find it by entry points (`wizard.catalog.plugins`)."""
