"""Server-sent events from bytes: records that do not care how they were cut."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["SseDecoder", "SseRecord"]

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class SseRecord(NamedTuple):
    """One event of a stream.

    Parameters
    ----------
    data : bytes
        The data lines, joined by newlines; UTF-8.
    event : str
        Name of the event, empty if it has none.
    id : str
        Identifier of the event, empty if it has none.
    retry : str
        What the server says about reconnecting, empty if nothing.
    """

    data: bytes
    event: str = ""
    id: str = ""
    retry: str = ""


class SseDecoder:
    r"""Turn the bytes of a stream into records, as they come.

    Lines end in ``\r\n``, ``\n`` or ``\r`` and in nothing else: the line
    separators of Unicode may stand inside a JSON string.

    Notes
    -----
    Time is linear in the bytes, also where one record comes in many pieces.

    References
    ----------
    .. [1] WHATWG, *HTML Living Standard*, section 9.2, "Server-sent events".

    Examples
    --------
    >>> decoder = SseDecoder()
    >>> decoder.feed(b"data: a\n\nda")
    [SseRecord(data=b'a', event='', id='', retry='')]
    >>> decoder.feed(b"ta: b\n")
    []
    >>> decoder.close()
    [SseRecord(data=b'b', event='', id='', retry='')]
    """

    __slots__ = ("_buffer", "_holds_return", "_is_first", "_searched")

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._searched = 0
        self._holds_return = False
        self._is_first = True

    @property
    def pending(self) -> int:
        """Count the bytes that belong to no complete record yet."""
        return len(self._buffer)

    def feed(self, chunk: bytes) -> list[SseRecord]:
        """Take the next bytes.

        Parameters
        ----------
        chunk : bytes
            As they came from the network.

        Returns
        -------
        list of SseRecord
            What became complete by them.
        """
        if self._holds_return or b"\r" in chunk:
            chunk = self._with_plain_newlines(chunk)
        buffer = self._buffer
        if not buffer and chunk.endswith(b"\n\n"):  # whole records, as most often
            return self._records(chunk[:-2])
        buffer += chunk
        end = buffer.rfind(b"\n\n", self._searched)
        if end < 0:
            self._searched = max(0, len(buffer) - 1)
            return []
        blocks = bytes(buffer[:end])
        del buffer[: end + 2]
        self._searched = max(0, len(buffer) - 1)
        return self._records(blocks)

    def close(self) -> list[SseRecord]:
        """Take the end of the stream.

        Returns
        -------
        list of SseRecord
            A last record that no blank line ended, if there is one.
        """
        blocks = bytes(self._buffer)
        self._buffer.clear()
        self._searched, self._holds_return = 0, False
        return self._records(blocks)

    def _with_plain_newlines(self, chunk: bytes) -> bytes:
        if self._holds_return:
            chunk = b"\r" + chunk
        # Whether a newline follows the last return is known with the next bytes.
        self._holds_return = chunk.endswith(b"\r")
        if self._holds_return:
            chunk = chunk[:-1]
        return chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")

    def _records(self, blocks: bytes) -> list[SseRecord]:
        if self._is_first and blocks:
            self._is_first = False
            blocks = blocks.removeprefix(_BYTE_ORDER_MARK)
        records = []
        for block in blocks.split(b"\n\n"):
            if block.startswith(b"data:") and b"\n" not in block:
                start = 6 if block.startswith(b" ", 5) else 5
                records.append(SseRecord(block[start:]))
            elif (record := _record_of(block)) is not None:
                records.append(record)
        return records


def _record_of(block: bytes) -> SseRecord | None:
    """Read the lines of one record; None if they hold no data."""
    data: list[bytes] = []
    facts = {b"event": b"", b"id": b"", b"retry": b""}
    for line in block.split(b"\n"):
        name, _, value = line.partition(b":")  # a comment has an empty name
        value = value.removeprefix(b" ")
        if name == b"data":
            data.append(value)
        elif name in facts:
            facts[name] = value
    if not data:
        return None
    event, identifier, retry = (v.decode("utf-8", "replace") for v in facts.values())
    return SseRecord(b"\n".join(data), event, identifier, retry)
