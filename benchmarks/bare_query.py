"""The shortest script that asks the bare SDK: what `flower once` is measured beside. Not imported, run by itself."""

import asyncio
import sys

from claude_agent_sdk import ResultMessage, query


async def main() -> None:
    async for message in query(prompt=sys.argv[1]):
        if isinstance(message, ResultMessage):
            print(message.result)


asyncio.run(main())
