"""Packages that receivers and callers write in JavaScript with, run by a Node.js of the tests' own."""
