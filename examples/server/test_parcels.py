"""A client of the server is tested against its cassette, and the cassette against the server. Needs mcp-tool-gateway on PATH."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

from mcp import Client, MCPError, StdioServerParameters

HERE = pathlib.Path(__file__).resolve().parent
CASSETTE = HERE / "session.json"


class WithoutTheServer(unittest.IsolatedAsyncioTestCase):
    def client(self):
        return Client(StdioServerParameters(command="mcp-tool-gateway", args=["replay", str(CASSETTE)]), mode="auto")

    async def test_a_recorded_call_has_its_result(self):
        async with self.client() as client:
            result = await client.call_tool("quote_postage", {"kind": "parcel", "grams": 2500})
        self.assertEqual(result.structured_content, {"result": 13.5})

    async def test_a_recorded_error_is_an_error(self):
        async with self.client() as client:
            result = await client.call_tool("track_parcel", {"number": "Z-9"})
        self.assertTrue(result.is_error)
        self.assertIn("no parcel has the number Z-9", result.content[0].text)

    async def test_an_unrecorded_call_names_the_nearest(self):
        async with self.client() as client:
            with self.assertRaisesRegex(MCPError, "/arguments/grams is 3000, recorded 2500"):
                await client.call_tool("quote_postage", {"kind": "parcel", "grams": 3000})


class WithTheServer(unittest.TestCase):
    def test_the_server_still_does_what_was_recorded(self):
        """If a change is meant, the command in README.md records it."""
        with tempfile.TemporaryDirectory() as folder:
            again = pathlib.Path(folder, "again.json")
            record = ["mcp-tool-gateway", "record", "--calls", HERE / "calls.jsonl", again]
            subprocess.run([*record, "--", sys.executable, HERE / "server.py"], check=True)
            answers = lambda path: [
                [entry["request"], entry.get("result")]
                for entry in json.loads(path.read_text())["entries"]
                if entry.get("request", {}).get("method", "").startswith("tools/")
            ]
            self.assertEqual(answers(again), answers(CASSETTE))


if __name__ == "__main__":
    unittest.main()
