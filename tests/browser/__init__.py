"""Tests of the page in a real browser; a package, so that one browser serves all of them."""
