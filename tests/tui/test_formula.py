"""Formulas as models write them, as text."""

from __future__ import annotations

import pytest

from wizard.tui.formula import LONGEST, readable


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (r"x = \frac{-b \pm \sqrt{b^2 - 4ac}}{2a}", "x = (-b ± √(b² - 4ac))/(2a)"),
        (r"\sum_{i=1}^{n} i = \frac{n(n+1)}{2}", "∑ᵢ₌₁ⁿ i = n(n+1)/2"),
        (r"\int_{0}^{\infty} e^{-x^2} \, dx = \frac{\sqrt{\pi}}{2}", "∫₀^∞ e^(-x²) dx = √π/2"),
        (r"\text{softmax}\left(\frac{QK^T}{\sqrt{d_k}}\right)V", "softmax(QKᵀ/(√dₖ))V"),
        (r"\frac{\partial L}{\partial w_{ij}}", "∂L/∂wᵢⱼ"),
        (r"\forall x \in \mathbb{R}, \exists n \in \mathbb{N} : n > x", "∀x ∈ ℝ, ∃n ∈ ℕ : n > x"),
        (r"p \implies q \iff \neg q", "p ⟹ q ⟺ ¬q"),
        (r"x\leq y", "x ≤ y"),
        (r"\hat{y} = \mathbf{w}^\top \mathbf{x}", "y\u0302 = wᵀx"),
        (r"\cos^2\theta + 2\sin\theta", "cos²θ + 2 sin θ"),
        (r"\binom{n}{k} \equiv 3 \pmod{7}", "C(n, k) ≡ 3 (mod 7)"),
        (r"d_{model} = 50\%, 90^\circ", "d_model = 50%, 90°"),
        (r"\frac12 \sqrt[3]{27}", "1/2 ∛27"),
        (r"\left.\frac{dy}{dx}\right|_{x=0}", "dy/dx|ₓ₌₀"),
    ],
)
def test_a_formula_on_one_line(source: str, text: str) -> None:
    assert readable(source) == readable(source, flat=True) == text


@pytest.mark.parametrize(
    ("source", "text", "flat"),
    [
        (r"A = \begin{pmatrix} 1 & 2 \\ 3 & 4 \end{pmatrix}", "A = ⎛ 1  2 ⎞\n    ⎝ 3  4 ⎠", "A = (1, 2; 3, 4)"),
        (r"\begin{aligned} 2x + 3 &= 7 \\ x &= 2 \end{aligned}", "2x + 3 = 7\n     x = 2", "2x + 3 = 7; x = 2"),
        (r"f = \begin{cases} x & a \\ -x & b \end{cases}", "f = ⎧ x   a\n    ⎩ -x  b", "f = {x, a; -x, b"),
        (r"\boxed{42}", "┌────┐\n│ 42 │\n└────┘", "[ 42 ]"),
        (r"a = b \\ c = d", "a = b\nc = d", "a = b; c = d"),
    ],
)
def test_a_formula_on_several_lines(source: str, text: str, flat: str) -> None:
    assert readable(source) == text
    assert readable(source, flat=True) == flat


@pytest.mark.parametrize("source", [r"\frac{1", "{", "}", "{" * 2_000, "x" * (LONGEST + 1), r"\begin{a}" * 59])
def test_what_is_no_formula_stays_as_it_was_written(source: str) -> None:
    assert readable(source) == source


def test_an_unknown_macro_and_its_argument_stay() -> None:
    assert readable(r"\unheard{x} + \input{/etc/passwd}") == r"\unheard{x} + \input{/etc/passwd}"


def test_a_formula_never_has_control_characters() -> None:
    assert readable("x\x1b[31m + \u202ey") == "x + y"


def test_a_formula_that_is_too_long_to_be_read_is_not_remembered_either() -> None:
    from wizard.tui import formula

    formula._readable.cache_clear()
    source = r"\alpha + " * 100_000
    assert readable(source) == source.strip()
    assert formula._readable.cache_info().currsize == 0
