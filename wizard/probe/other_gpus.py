"""GPUs of other vendors than NVIDIA, which neither Triton nor the wizard's engines can use; from the kernel alone.

Class codes and vendor IDs of PCI: https://pci-ids.ucw.cz (``C 03`` display controllers, ``C 12`` processing
accelerators). Apple's machines have no such device: their devicetree names the chip (Linux,
``Documentation/devicetree/bindings/arm/apple.yaml``).
"""

from __future__ import annotations

from pathlib import Path

from wizard.probe.cgroups import read

VENDORS = {"0x1002": "AMD", "0x8086": "Intel", "0x106b": "Apple"}
CLASSES = ("0x03", "0x12")


def other_gpus(root: Path = Path("/")) -> tuple[str, ...]:
    """The vendors of such GPUs, each once; empty if there is none, or the kernel does not say."""
    vendors = []
    for device in sorted((root / "sys/bus/pci/devices").glob("*")):
        vendor = VENDORS.get((read(device / "vendor") or "").strip())
        if vendor and (read(device / "class") or "").startswith(CLASSES):
            vendors.append(vendor)
    if "apple," in (read(root / "proc/device-tree/compatible") or ""):
        vendors.append("Apple")
    return tuple(dict.fromkeys(vendors))
