"""Tests of the full-screen interface, driven by keys.

What a screen says and does is asserted as text: such a test names what it wants, and says what it found. A picture
(`test_snapshots`) is taken only where it can fail for a reason that no text shows: how things are laid out, cut off or
scrolled, and which colours and styles they have. So there are

- of one state of each stage a picture in every class of sizes that the style sheets know (narrow and short, medium,
  wide) and in one beyond them, and one with the theme of high contrast, whose colours hold in every size;
- of any other state that draws what no other picture has (a bar, a table, marked words, an error's box, a kind of
  window) one picture, in a terminal of 80x24;
- of windows and side panels, whose place depends on the width, also the narrow and the wide one.

A state that differs from a pictured one in its words only is read (`test_shown`).
"""
