"""The newest revision, asked for once on behalf of all who wait for the asking to begin."""

from __future__ import annotations

import asyncio
from functools import partial

from polykind.contract import StoreError, UnavailableError
from polykind.store.etcd import messages
from polykind.store.etcd.call import DEADLINE_EXCEEDED, CallError
from polykind.store.etcd.client import ATTEMPT, PATIENCE, Client
from polykind.store.etcd.member import Member
from polykind.store.etcd.wire import Malformed
from polykind.store.turns import Gathering, settle

MOST = 100
"""Readers that a question is sent for at the latest, although more come in."""


class Question:
    """One that has been sent. It is answered for those who wanted it before."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._answer: int | StoreError | None = None
        self._waiting: list[asyncio.Future[int]] = []

    async def result(self) -> int:
        """The newest revision there was when it was sent, or a later one. Raises StoreError."""
        if self._answer is None:
            future: asyncio.Future[int] = self._loop.create_future()
            self._waiting.append(future)
            return await future
        if isinstance(self._answer, StoreError):
            raise self._answer
        return self._answer

    def settle(self, answer: int | StoreError) -> None:
        self._answer = answer
        for future in self._waiting:
            settle(future, answer)


class Newest:
    """Linearizable: an answer counts only for those who asked before its question was sent.

    One question is under way at a time. It costs etcd more than a read costs the server, so as many as possible share
    one: the first to come waits until a turn of the loop has brought nobody else; who comes while it is under way
    shares the next.
    """

    def __init__(self, client: Client, key: bytes) -> None:
        self._client = client
        self._request = messages.get_request(key, count_only=True)
        self._waiting: list[asyncio.Future[Question]] = []
        self._loop = asyncio.get_running_loop()
        self._since = 0.0
        """When the first of those who wait came."""
        self._gathering = Gathering(self._loop, lambda: len(self._waiting), MOST, self._ask)
        self._asking = False
        self._closed = False
        self._timer: asyncio.TimerHandle | None = None
        self._insisting: asyncio.Task[None] | None = None

    def ask(self) -> asyncio.Future[Question]:
        """A question, as soon as it has been sent."""
        future: asyncio.Future[Question] = self._loop.create_future()
        if not self._waiting:
            self._since = self._loop.time()
            if not self._asking:
                self._asking = True
                self._gathering.begin()
        self._waiting.append(future)
        return future

    def _ask(self) -> None:
        wanted, self._waiting = self._waiting, []
        question, member = Question(self._loop), self._client.member
        call = member.ask(messages.RANGE, self._request, partial(self._answered, question, self._since, member))
        if call is None:
            self._insist(question, self._since)
        else:
            self._timer = self._loop.call_later(ATTEMPT, call.expire, ATTEMPT)
        for future in wanted:
            settle(future, question)

    def _answered(self, question: Question, since: float, member: Member, answer: bytes | CallError) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if isinstance(answer, CallError):
            self._client.avoid(member, silent=answer.status == DEADLINE_EXCEEDED)
            self._insist(question, since)
        else:
            self._tell(question, answer)

    def _insist(self, question: Question, since: float) -> None:
        if self._closed:
            self._tell(question, UnavailableError("the store was closed"))
        else:
            self._insisting = self._loop.create_task(self._try_everywhere(question, since))

    async def _try_everywhere(self, question: Question, since: float) -> None:
        """Ask every member, in turn, until one answers. The time spent waiting is part of everybody's patience."""
        told: bytes | StoreError = UnavailableError("the store was closed")
        try:
            patience = max(PATIENCE - (self._loop.time() - since), ATTEMPT)
            told = await self._client.read(messages.RANGE, self._request, patience)
        except StoreError as error:
            told = error
        finally:
            self._tell(question, told)

    def _tell(self, question: Question, told: bytes | StoreError) -> None:
        """The question is answered; ask for those who have come meanwhile."""
        try:
            question.settle(messages.header_revision(told) if isinstance(told, bytes) else told)
        except Malformed as error:
            question.settle(UnavailableError(f"etcd's answer cannot be read: {error}"))
        self._asking = bool(self._waiting)
        if self._asking:
            self._gathering.begin()

    async def close(self) -> None:
        """Nobody asks any more; who still waits is told."""
        self._closed = True
        if self._insisting is not None:
            self._insisting.cancel()
            await asyncio.gather(self._insisting, return_exceptions=True)
        if self._timer is not None:
            self._timer.cancel()
        waiting, self._waiting = self._waiting, []
        question = Question(self._loop)
        question.settle(UnavailableError("the store was closed"))
        for future in waiting:
            settle(future, question)
