"""The workflow from the machine to the chat: pure, serializable, and shared by every interface.

`walk.step` takes a `values.State` and an input (an answer, or the outcome of an effect) and returns what comes next:
a question to ask, an effect to perform, or the end. An interface only shows questions and events; `perform.perform`
does the rest through `wizard.journey`.
"""
