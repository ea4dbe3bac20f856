"""Prints a QR code in the terminal."""

from __future__ import annotations

import sys

import segno


def print_qr(text: str) -> None:
    """Print a QR code of a text with half blocks, readable on dark and light terminals."""
    segno.make(text, error="l").terminal(out=sys.stdout, compact=True)
