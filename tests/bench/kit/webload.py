"""Requests to a web server that may be behind one of several ports, and when they were answered."""

import asyncio
import bisect
import threading
import time

TIMEOUT = 0.5       # seconds until a client gives a request up and makes another
PAUSE = 0.02        # after a failure


class Load:
    """Clients in a thread of their own; each asks, waits for the whole page, and asks again.

    They do not know where the server is: each port has its clients all the time, as the users of a
    guest do not know of a migration. A page that is not as expected counts as wrong.
    """

    def __init__(self, ports, clients, page):
        self.page = page.encode()
        self.answered = []      # monotonic seconds
        self.failed = self.wrong = 0
        self._stop = False
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run(ports, clients)), daemon=True)
        self._thread.start()

    async def _run(self, ports, clients):
        await asyncio.gather(*(self._client(port) for port in ports for _ in range(clients)))

    async def _client(self, port):
        while not self._stop:
            try:
                good = await asyncio.wait_for(self._ask(port), TIMEOUT)
            except (OSError, asyncio.TimeoutError, asyncio.IncompleteReadError):
                self.failed += 1
                await asyncio.sleep(PAUSE)
                continue
            if good:
                self.answered.append(time.monotonic())
            else:
                self.wrong += 1

    async def _ask(self, port):
        reader, writer = await asyncio.open_connection('127.0.0.1', port)
        try:
            writer.write(b'GET / HTTP/1.0\r\nHost: tide\r\n\r\n')
            answer = await reader.read(-1)
        finally:
            writer.transport.abort()
        head, _, body = answer.partition(b'\r\n\r\n')
        if len(body) < len(self.page) and self.page.startswith(body):   # its connection ended with the process
            raise ConnectionResetError
        return head.startswith(b'HTTP/1.1 200 ') and body == self.page

    def between(self, start, end):
        """Times of the answers in [start, end)."""
        times = self.answered
        return times[bisect.bisect_left(times, start):bisect.bisect_left(times, end)]

    def rate(self, start, end):
        """Answers a second."""
        return len(self.between(start, end)) / (end - start) if end > start else 0.0

    def longest_gap(self, start, end):
        """Seconds without an answer, at most, within the window; its ends count as answers."""
        times = [start, *self.between(start, end), end]
        return max(after - before for before, after in zip(times, times[1:]))

    def wait(self, number, timeout):
        """Wait until so many more requests were answered; returns whether they were."""
        wanted, end = len(self.answered) + number, time.monotonic() + timeout
        while len(self.answered) < wanted and time.monotonic() < end:
            time.sleep(0.01)
        return len(self.answered) >= wanted

    def close(self):
        self._stop = True
        self._thread.join(10)
