"""The live page: what runs do, seen in a browser, from their folders alone.

Live, replay and afterwards are the same thing here: files are read as they grow, and nothing in
this package knows an engine. Read `tail.py`, `event_stream.py` and `app.py` in this order.
"""
