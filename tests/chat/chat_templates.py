"""Chat templates, and what they are given: all that lie in the tests and in profiles, and some that use all there is.

The last are written for this test, each after the shape of a family's: what it branches on, not its words.
"""

from __future__ import annotations

from typing import Any

from tests import chain_model
from tests.model import gguf_bytes
from wizard.catalog import profiles

TEMPLATES = {
    "demo": profiles.find("models/triton-wizard-demo/chat_template.jinja").read_text(encoding="utf-8"),
    "chain": chain_model.TEMPLATE,
    "tiny": gguf_bytes.TEMPLATE,
    "no system role": (
        "{{ bos_token }}{% if messages[0].role == 'system' %}{{ raise_exception('System role not supported') }}"
        "{% endif %}{% for m in messages %}<start_of_turn>{{ m.role }}\n{{ m.content }}<end_of_turn>\n{% endfor %}"
    ),
    "turns alternate": """{{- bos_token }}
{%- if messages[0]['role'] == 'system' %}
    {%- set system = messages[0]['content'] | trim %}
    {%- set turns = messages[1:] %}
{%- else %}
    {%- set turns = messages %}
{%- endif %}
{%- for message in turns %}
    {%- if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}
        {{- raise_exception('Roles must alternate') }}
    {%- endif %}
    {%- if message['role'] == 'user' %}
        {{- '[INST] ' }}{%- if loop.last and system is defined %}{{ system + '\n\n' }}{% endif %}
        {{- message['content'] + ' [/INST]' }}
    {%- else %}
        {{- ' ' + message['content'] | trim + eos_token }}
    {%- endif %}
{%- endfor %}
""",
    "tools, date": """{% set date = strftime_now("%Y") %}
<|header|>system<|/header|>
Year: {{ date }}
{% if tools is not none %}
  {% for tool in tools %}
{{ tool | tojson(indent=4) }}
  {% endfor %}
{% endif %}
{% for m in messages %}
<|header|>{{ m.role }}<|/header|>

    {{ m.content | trim }}<|eot|>
{% endfor %}
{% if add_generation_prompt %}<|header|>assistant<|/header|>

{% endif %}
""",
    "tools, calls, thoughts": """{%- if tools %}
{{- '<|im_start|>system\n' }}{{- messages[0].content if messages[0].role == 'system' else 'default' }}
{{- "\n<tools>" }}{%- for tool in tools %}{{- "\n" }}{{- tool | tojson }}{%- endfor %}
{{- "\n</tools><|im_end|>\n" }}
{%- endif %}
{%- set ns = namespace(last=messages|length - 1, seen=false) %}
{%- for message in messages[::-1] %}
    {%- set index = (messages|length - 1) - loop.index0 %}
    {%- if not ns.seen and message.role == "user" and not message.content.startswith('<tool') %}
        {%- set ns.seen = true %}{%- set ns.last = index %}
    {%- endif %}
{%- endfor %}
{%- for message in messages %}
    {%- set content = message.content if message.content is string else '' %}
    {%- if '</think>' in content and message.role == 'assistant' and loop.index0 < ns.last %}
        {%- set content = content.split('</think>')[-1].lstrip('\n') %}
    {%- endif %}
    {{- '<|im_start|>' + message.role + '\n' + content }}
    {%- for call in message.tool_calls or [] %}
        {{- '\n<call>' + call.function.name + call.function.arguments | tojson + '</call>' }}
    {%- endfor %}
    {{- '<|im_end|>\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\n' }}
{%- if enable_thinking is defined and enable_thinking is false %}{{- '<think>\n\n</think>\n\n' }}{%- endif %}
{%- endif %}
""",
    "documents": """{% if documents %}
{% for document in documents %}
Document: {{ loop.index0 }}
Title: {{ document['title'] }}
{{ document['text'] }}
{% endfor %}
{% else %}
{{ "no documents" if documents is none else "empty" }}
{% endif %}
{% for message in messages if message.role != "system" %}
{{ message.content | upper | replace("A", "b") }}
{% endfor %}
""",
    "generation blocks": """{% for message in messages %}
{% if message.role == "assistant" %}
{% generation %}
{% set inner = "x" %}
{{ message.content }}{{ inner }}{{ eos_token }}
{% endgeneration %}
{{ inner is defined }}
{% else %}
{{ message.role }}: {{ message.content }}
{% endif %}
{% endfor %}
""",
    "loop controls, macros, JSON": """{%- macro show(message, level=1) -%}
<{{ message.role | title }}>{{ message.content | tojson }}{{ message | tojson(sort_keys=true, indent=level) }}
{%- endmacro -%}
{%- for message in messages -%}
{%- if message.content | length > 40 %}{% continue %}{% endif -%}
{{ show(message, level=loop.index) }}
{%- if loop.index > 5 %}{% break %}{% endif -%}
{%- endfor -%}
{{ dict(a=1, b="<é>") | tojson }}{{ dict.fromkeys(["x"], 2) }}{{ messages | map(attribute="role") | list }}
{{ messages | tojson(separators=(",", ":")) }}{{ "<&>'" | tojson }}{{ {"u": "é"} | tojson(ensure_ascii=true) }}
{{- '\n' if add_generation_prompt }}
""",
    "what the sandbox refuses": "{{ messages.append(1) }}",
    "no template of Jinja": "{% for",
    "an attribute that is not there": "{{ messages[0].nothing.at_all }}",
}

TOOLS: list[dict[str, Any]] = [
    {
        "type": "function",
        "function": {
            "name": "weather",
            "description": "Today's weather, in °C & <b>words</b>.",
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
        },
    }
]
DOCUMENTS = [{"title": "On trees", "text": "Trees are tall.\n"}, {"title": "Leer", "text": ""}]
CALL = {"type": "function", "function": {"name": "weather", "arguments": {"city": "Zürich"}}}


def message(role: str, content: str) -> dict[str, Any]:
    return {"role": role, "content": content}


CONVERSATIONS: dict[str, list[dict[str, Any]]] = {
    "one question": [message("user", "Hello")],
    "with a system prompt": [message("system", " Be brief. "), message("user", "Hello")],
    "several turns": [
        message("system", "Be brief."),
        message("user", "Hello"),
        message("assistant", "<think>hm</think>\n\nHi  "),
        message("user", "A longer question, which has more than forty characters, {{ 7 * 7 }} and {% raw %}"),
        message("assistant", ""),
        message("user", '\n é 😀 <b>&amp;</b> "quoted"\n'),
    ],
    "two users": [message("user", "a"), message("user", "b")],
    "with a call": [
        message("user", "How is the weather?"),
        {**message("assistant", ""), "tool_calls": [CALL]},
        message("tool", "21"),
    ],
    "nothing": [],
}

VARIABLES: dict[str, dict[str, Any]] = {
    "bare": {},
    "tools": {"tools": TOOLS},
    "documents": {"documents": DOCUMENTS},
    "no prompt": {"add_generation_prompt": False, "enable_thinking": False, "tools": TOOLS, "documents": []},
}
