"""What users may call a function in the command palette, besides what its key is called."""

from __future__ import annotations

from wizard.kernel.language import mark

WORDS = {
    "again": mark("retry redo repeat reroll"),
    "back": mark("previous return"),
    "bench": mark("benchmark speed throughput latency tokens per second AIPerf report"),
    "compare": mark("race second model benchmark side by side"),
    "conversations": mark("history chats open resume delete rename"),
    "copy": mark("clipboard answer"),
    "copy_code": mark("clipboard block snippet"),
    "copy_thought": mark("clipboard thinking reasoning thoughts"),
    "doctor": mark("diagnose health driver Docker network token check"),
    "edit": mark("change rephrase fix"),
    "elsewhere": mark("API curl Python snippet request client other programs"),
    "find": mark("search"),
    "leave": mark("quit exit close stop the server"),
    "log": mark("logs output errors debug"),
    "logprobs": mark("probability logprobs confidence alternatives uncertain"),
    "new": mark("clear reset"),
    "presets": mark("system prompt profile persona"),
    "private": mark("incognito secret saving off"),
    "quit": mark("exit leave close"),
    "restart": mark("reload reboot start again"),
    "save": mark("export download write Markdown JSON"),
    "settings": mark("preferences options configuration colors"),
    "suspend_process": mark("background shell pause"),
    "switch": mark("change LLM server Ollama URL"),
    "tune": mark("temperature top-p seed max tokens system prompt sampling parameters settings thinking off budget"),
    "unfold": mark("thinking thoughts reasoning show hide"),
    "vote": mark("quality preference compare answers side by side A/B arena better"),
}
"""Action → words."""
