"""The one walk through the stages, from the machine to the chat: pure, serialisable, and shared by every interface.

`walk.step` takes a `values.State` and what came in (an answer, or the outcome of an effect) and says what comes next:
a question to ask, an effect to perform, or the end. An interface only shows questions and events; `perform.perform`
does the rest through `wizard.journey`.
"""
