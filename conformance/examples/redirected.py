"""Runs a program as it stands, with other addresses than those in its text: redirected.py PROGRAM

The gateway at port 8787 is the one of GATEWAY_URL, and google-generativeai, which reads no variable for it, asks the server of
GOOGLE_GEMINI_BASE_URL over HTTP instead of gRPC. The key is in GOOGLE_API_KEY.
"""

import os
import runpy
import socket
import sys
import urllib.parse

import google.generativeai as genai

PORT = 8787
there = urllib.parse.urlsplit(os.environ["GATEWAY_URL"]).port
look_up = socket.getaddrinfo


def redirected(host, port, *more, **named):
    return look_up(host, there if port == PORT else port, *more, **named)


socket.getaddrinfo = redirected
genai.configure(transport="rest", client_options={"api_endpoint": os.environ["GOOGLE_GEMINI_BASE_URL"]})
runpy.run_path(sys.argv[1], run_name="__main__")
