"""Texts of findings: code → what was found, and what to do about it."""

from __future__ import annotations

from wizard.kernel.language import mark

COMMON = {
    "no-gpu": mark("no NVIDIA GPU"),
    "unreachable": mark("unknown: the driver does not list the GPUs"),
    "unsupported": mark("not supported by these GPUs"),
    "offline": mark("not checked: offline mode is on ({why})"),
    "not-asked": mark("not checked"),
}
"""Second part of a code → text, for all checks that have it."""
_REPLACE = mark("Stop using the GPU and have it replaced; save the output of `nvidia-smi -q` for the vendor.")
_RESET = mark("Stop all programs on the GPU and reset it, or reboot.")
_MORE_SHARED = mark("Start the container with `--shm-size=4g` or `--ipc=host`.")
_BIGGER_SHARED = mark("Enlarge it until the next reboot; /etc/fstab keeps the size.")
_FREE_DISK = mark(
    "Free some space (`triton-wizard clean` lists what the wizard made), or use another disk: --workspace."
)
_FREE_MEMORY = mark("Close programs that use much memory.")
_RAISE = mark("Raise the limit where this session is started (docker run --memory, systemd MemoryMax, the batch job).")
_ENGINE = mark("Fix this, or serve without containers: `--runtime native`.")
_OTHER = mark("Nothing to do as long as {other} works: the wizard uses it.")
_CLOCK = mark("Set the clock over the network.")
TEXTS: dict[str, tuple[str, str]] = {
    "driver.works": (mark("driver {version}, CUDA up to {cuda}"), ""),
    "driver.broken": ("{what}", "{todo}"),
    "driver.unknown": (mark("version unknown: {why}"), ""),
    "driver-versions.same": (mark("kernel module and library: {version}"), ""),
    "driver-versions.differ": (mark("kernel module {module}, library {library}"), ""),
    "driver-versions.none": (mark("no NVIDIA driver"), ""),
    "driver-versions.unknown": (mark("kernel module {module}, library {library}"), ""),
    "gpus.respond": (mark("GPUs that respond: {count}"), ""),
    "gpus.silent": (
        mark("GPU {gpus} does not respond: {why}"),
        mark("Look for its Xid error in the kernel's log, then reset the GPU or reboot."),
    ),
    "gpus.none": (
        mark("the driver works, but lists no GPU"),
        mark("In a container, pass the GPUs (`docker run --gpus all`); otherwise, check `lspci` and the BIOS."),
    ),
    "cuda-toolkit.none": (mark("not installed, and not needed"), ""),
    "cuda-toolkit.unreadable": (mark("installed; its version is not readable"), ""),
    "cuda-toolkit.no-driver": (mark("CUDA {version}; no driver to compare it with"), ""),
    "cuda-toolkit.newer": (
        mark("CUDA {version}; the driver supports {cuda}"),
        mark("Update the driver, or compile with a CUDA toolkit that it supports."),
    ),
    "cuda-toolkit.fits": (mark("CUDA {version}; the driver supports {cuda}"), ""),
    "mig.off": (mark("off"), ""),
    "mig.on": (mark("on for GPU {gpus}; instances: {count}"), ""),
    "mig.empty": (
        mark("on for GPU {gpus}, but it has no instance"),
        mark("Create an instance (`sudo nvidia-smi mig -cgi PROFILE -C`), or turn MIG off."),
    ),
    "mig.pending": (mark("a change of GPU {gpus} waits for a reset"), _RESET),
    "mig.unknown": (mark("unknown for GPU {gpus}"), ""),
    "ecc.on": (mark("ECC is on; no errors since the driver was loaded"), ""),
    "ecc.off": (mark("ECC is off: errors are not detected"), ""),
    "ecc.broken": (mark("GPU {gpus} cannot repair its memory: a row remapping failed"), _REPLACE),
    "ecc.errors": (mark("GPU {gpus}: {count} uncorrectable errors since the driver was loaded"), _RESET),
    "ecc.pending": (mark("GPU {gpus} needs a reset to repair its memory, or to change ECC"), _RESET),
    "ecc.unknown": (mark("unknown: {why}"), ""),
    "persistence.on": (mark("on"), ""),
    "persistence.off": (
        mark("off for GPU {gpus}"),
        mark("Turn it on until the next reboot; the service nvidia-persistenced keeps it on."),
    ),
    "persistence.unknown": (mark("unknown: {why}"), ""),
    "throttling.none": (mark("not lowered by heat or power supply"), ""),
    "throttling.slow": (
        mark("GPU {gpus} is slowed down: {reasons}"),
        mark("Check fans, airflow, power cables and the room's temperature."),
    ),
    "throttling.unknown": (mark("unknown: {why}"), ""),
    "gpu-processes.none": (mark("none"), ""),
    "gpu-processes.others": (mark("{names} hold {used}"), mark("Close them, if they are yours, to free the memory.")),
    "gpu-processes.unsized": ("{names}", mark("Close them, if they are yours, to free the memory.")),
    "gpu-processes.unclear": (mark("{names}; they may belong to your server in a container: {servers}"), ""),
    "gpu-processes.unknown": (mark("unknown: the driver does not list them"), ""),
    "docker.works": (mark("version {version}, and you may use it"), ""),
    "docker.broken": ("{why}", _ENGINE),
    "docker.other-works": ("{why}", _OTHER),
    "docker.missing": (
        mark("neither Docker nor podman is installed"),
        mark("Install one of them, or serve without containers: `--runtime native`."),
    ),
    "docker.not-installed": (mark("not installed"), ""),
    "podman.works": (mark("version {version}, and it can start containers"), ""),
    "podman.broken": ("{why}", _ENGINE),
    "podman.other-works": ("{why}", _OTHER),
    "podman.not-installed": (mark("not installed"), ""),
    "gpu-containers.work": (mark("{engine} passes GPUs to containers"), ""),
    "gpu-containers.none": (
        mark("{engine} has no NVIDIA runtime"),
        mark("Install and configure the NVIDIA Container Toolkit: `triton-wizard prerequisites --run toolkit`."),
    ),
    "gpu-containers.no-engine": (mark("no container engine that works"), ""),
    "gpu-containers.unknown": (mark("unknown whether {engine} passes GPUs"), ""),
    "disk.enough": (mark("{free} free at {path}"), ""),
    "disk.low": (mark("only {free} free at {path}"), _FREE_DISK),
    "disk.full": (mark("only {free} free at {path}"), _FREE_DISK),
    "inodes.enough": (mark("{free:,} free at {path}"), ""),
    "inodes.low": (mark("only {free:,} free at {path}"), mark("Delete folders with many small files: `df -i`.")),
    "inodes.none": (mark("only {free:,} free at {path}"), mark("Delete folders with many small files: `df -i`.")),
    "inodes.dynamic": (mark("the file system has no fixed number"), ""),
    "inodes.unknown": (mark("unknown at {path}"), ""),
    "shm.enough": (mark("{free} free"), ""),
    "shm.low-host": (mark("only {free} of {total} free"), _BIGGER_SHARED),
    "shm.full-host": (mark("only {free} of {total} free"), _BIGGER_SHARED),
    "shm.low-container": (mark("only {free} of {total} free in this container"), _MORE_SHARED),
    "shm.full-container": (mark("only {free} of {total} free in this container"), _MORE_SHARED),
    "shm.missing": (mark("there is no /dev/shm"), mark("Mount a tmpfs at /dev/shm, or start the container with one.")),
    "shm.unknown": (mark("the size of /dev/shm is unknown"), ""),
    "memory.enough": (mark("{free} of {total} available"), ""),
    "memory.low": (mark("only {free} of {total} available"), _FREE_MEMORY),
    "memory.none": (mark("only {free} of {total} available"), _FREE_MEMORY),
    "memory.unknown": (mark("unknown: /proc/meminfo is not readable"), ""),
    "swap.none": (mark("none, so the kernel ends a program that needs too much memory"), ""),
    "swap.free": (mark("{used} of {total} in use"), ""),
    "swap.used": (mark("{used} of {total} in use"), _FREE_MEMORY),
    "swap.unknown": (mark("unknown: /proc/meminfo is not readable"), ""),
    "cgroup-memory.none": (mark("none"), ""),
    "cgroup-memory.enough": (mark("{free} of {limit} left"), ""),
    "cgroup-memory.low": (mark("only {free} of {limit} left"), _RAISE),
    "cgroup-memory.full": (mark("only {free} of {limit} left"), _RAISE),
    "cgroup-memory.unknown": (mark("unknown: control groups are not readable"), ""),
    "cgroup-cpu.none": (mark("none"), ""),
    "cgroup-cpu.enough": (mark("the time of {quota:g} cores"), ""),
    "cgroup-cpu.low": (
        mark("only the time of {quota:g} cores"),
        mark("Raise the quota where this session is started (docker run --cpus, systemd CPUQuota, the batch job)."),
    ),
    "cgroup-cpu.unknown": (mark("unknown: control groups are not readable"), ""),
    "cgroup-tasks.none": (mark("none"), ""),
    "cgroup-tasks.enough": (mark("{free:,} of {total:,} processes and threads left"), ""),
    "cgroup-tasks.low": (
        mark("only {free:,} of {total:,} processes and threads left"),
        mark("Raise the limit where this session is started (docker run --pids-limit, systemd TasksMax)."),
    ),
    "cgroup-tasks.unknown": (mark("unknown: control groups are not readable"), ""),
    "nofile.enough": (mark("{soft:,}, and up to {hard:,} on request"), ""),
    "nofile.unlimited": (mark("no limit"), ""),
    "nofile.low": (
        mark("at most {hard:,}; engines ask for {wanted:,}"),
        mark("For many users, raise it: LimitNOFILE in the systemd unit, or nofile in /etc/security/limits.conf."),
    ),
    "nofile.unknown": (mark("unknown: /proc/self/limits is not readable"), ""),
    "memlock.no-infiniband": (mark("no InfiniBand"), ""),
    "memlock.unlimited": (mark("no limit"), ""),
    "memlock.low": (
        mark("only {limit}"),
        mark("Raise it: LimitMEMLOCK=infinity in the systemd unit, or memlock in /etc/security/limits.conf."),
    ),
    "memlock.unknown": (mark("unknown: /proc/self/limits is not readable"), ""),
    "numa.single": (mark("a single node"), ""),
    "numa.good": (mark("{nodes} nodes; the kernel moves no memory of GPU programs"), ""),
    "numa.balancing": (
        mark("{nodes} nodes, and the kernel moves memory between them"),
        mark("Turn the balancing off until the next reboot."),
    ),
    "numa.unknown": (mark("unknown: /sys has no nodes"), ""),
    "numa.unreadable": (mark("{nodes} nodes; unknown whether the kernel moves memory between them"), ""),
    "wsl2.no": (mark("this is not WSL"), ""),
    "wsl2.good": (mark("Windows' driver, and the workspace is on a Linux disk"), ""),
    "wsl2.linux-driver": (
        mark("an NVIDIA driver for Linux is installed in WSL"),
        mark("Remove it: WSL needs only the driver for Windows."),
    ),
    "wsl2.windows-drive": (
        mark("the workspace {path} is on a Windows drive"),
        mark("Choose a folder in Linux, such as ~/triton-wizard, with --workspace."),
    ),
    "wsl2.unknown": (mark("unknown which file system {path} is on"), ""),
    "ports.free": (mark("{first} to {last} are free"), ""),
    "ports.own": (mark("used by your server: {servers}"), ""),
    "ports.busy": (
        mark("used by another program: {ports}"),
        mark("Nothing to do unless you need these: the wizard takes the next free ports (--http-port chooses others)."),
    ),
    "firewall.only-local": (mark("no ufw or firewalld; your servers are for this machine only"), ""),
    "firewall.off": (mark("{name} is off"), ""),
    "firewall.local": (mark("{name} is on; your servers are for this machine only"), ""),
    "firewall.on": (
        mark("{name} is on, and other machines may be kept from {addresses}"),
        mark("Open the port, if other machines are meant to reach it."),
    ),
    "firewall.unknown": (mark("unknown: only root can read the rules"), ""),
    "proxy.none": (mark("no proxy is set"), ""),
    "proxy.set": (mark("{value} ({names})"), ""),
    "proxy.invalid": (
        mark("{name} is not the address of a proxy: {value}"),
        mark("Set it as http://HOST:PORT, or unset it."),
    ),
    "proxy.local": (
        mark("{names} is set, but NO_PROXY excludes neither 127.0.0.1 nor localhost, or only one of them"),
        mark("Exclude both, so that curl and other clients reach your server."),
    ),
    "dns.responds": (mark("{host} is found"), ""),
    "dns.fails": (
        mark("{host} is not found: {why}"),
        mark("Check the network connection and the name servers in /etc/resolv.conf."),
    ),
    "dns.unknown": (mark("{host}: {why}"), ""),
    "dns.proxied": (mark("the proxy looks names up"), ""),
    "certificates.trusted": (mark("the Hub's certificate is trusted"), ""),
    "certificates.untrusted": (
        mark("the Hub's certificate is not trusted: {why}"),
        mark(
            "Check the clock. Behind a company's proxy, add its certificate: set SSL_CERT_FILE and REQUESTS_CA_BUNDLE "
            "to a PEM file with all certificates."
        ),
    ),
    "certificates.no-tls": (mark("{address} uses none"), ""),
    "certificates.unknown": (mark("unknown: the Hub does not respond"), ""),
    "clock.right": (mark("the same as the Hub's"), ""),
    "clock.ahead": (mark("{seconds:,} s ahead of the Hub's"), _CLOCK),
    "clock.behind": (mark("{seconds:,} s behind the Hub's"), _CLOCK),
    "clock.unknown": (mark("unknown: the Hub sent no time"), ""),
    "hub.responds": (mark("{address} responds"), ""),
    "hub.fails": (mark("{address}: {why}"), ""),
    "hub.untrusted": (mark("{address}: its certificate is not trusted"), ""),
    "hub.not-found": (mark("{address}: its name is not found"), ""),
    "hub.unknown": (mark("{address}: {why}"), ""),
    "index.responds": (mark("pip finds packages"), ""),
    "index.fails": (mark("pip finds no packages: {why}"), ""),
    "index.unknown": (mark("unknown: {why}"), ""),
    "token.none": (mark("none; open models need none, others need `hf auth login`"), ""),
    "token.valid": (mark("accepted for the account {account}"), ""),
    "token.fails": (mark("the Hub rejects it"), ""),
    "token.unknown": (mark("unknown: {why}"), ""),
    "token-scope.none": (mark("no token"), ""),
    "token-scope.reads": (mark("it may read ({role})"), ""),
    "token-scope.write": (
        mark("it may also write"),
        mark("Create a token that only reads at huggingface.co/settings/tokens, and log in with it: `hf auth login`."),
    ),
    "token-scope.not-gated": (
        mark("it may not read gated models"),
        mark("Allow it at huggingface.co/settings/tokens: read access to all public gated repositories."),
    ),
    "token-scope.unknown": (mark("unknown: the Hub did not report them"), ""),
    "gated.none": (mark("no token"), ""),
    "gated.all": (mark("all {readable} that the wizard offers can be downloaded"), ""),
    "gated.some": (mark("{readable} that the wizard offers can be downloaded, {closed} not yet"), ""),
    "gated.closed": (
        mark("none of {count} can be downloaded: {models}"),
        mark("Accept the license on the page of the model that you want: {page}"),
    ),
    "gated.unknown": (mark("unknown: the Hub did not report all"), ""),
}
"""Code → text, and what to do; a finding with ``known`` has the fix of that failure instead."""
