"""LangGraph's own suite for checkpoint savers, with every capability."""

import asyncio
import uuid

from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.checkpoint.conformance.capabilities import ALL_CAPABILITIES

from loci_memory.langgraph import LociSaver


def test_every_capability(url):
    @checkpointer_test(name="LociSaver")
    async def savers():
        saver = LociSaver(url, user="conformance-" + uuid.uuid4().hex)
        yield saver
        await saver.aclose()

    report = asyncio.run(validate(savers))
    report.print_report()
    assert set(report.results) == {capability.value for capability in ALL_CAPABILITIES}
    for name, result in report.results.items():
        assert result.detected and result.passed and result.tests_skipped == 0, (name, result.failures)
    assert sum(result.tests_passed for result in report.results.values()) >= 80
