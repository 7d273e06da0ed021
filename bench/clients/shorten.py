#!/usr/bin/env python3
"""Cuts long texts and long lists of the messages in a file of JSON lines, in place.

    shorten.py FILE...
"""

import json
import pathlib
import sys

import acp_probe

for name in sys.argv[1:]:
    file = pathlib.Path(name)
    lines = [json.dumps(acp_probe.cut(json.loads(line)), ensure_ascii=False) for line in file.open()]
    file.write_text("".join(line + "\n" for line in lines))
