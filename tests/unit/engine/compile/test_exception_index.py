"""What is found by names is what all of them would say, asked one by one."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from match_blocks import block as read

from kyvsim.engine.compile.compiled import CompiledException, index_exceptions
from kyvsim.engine.match import MatchFacts, compile_exception_match

WORDS = st.sampled_from(["a", "b", "c", "a*", "?", "*"])
LISTS = st.lists(WORDS, max_size=2)
FILTERS = st.fixed_dictionaries(
    {},
    optional={
        "resources": st.fixed_dictionaries(
            {}, optional={"names": LISTS, "name": WORDS, "namespaces": LISTS}
        )
    },
)
BLOCKS = st.one_of(
    FILTERS,
    st.builds(lambda some: {"any": some}, st.lists(FILTERS, min_size=1, max_size=2)),
    st.builds(lambda some: {"all": some}, st.lists(FILTERS, min_size=1, max_size=2)),
)
EXAMPLE = {"resources": {"names": ["a"]}}


def compiled(block, number):
    return CompiledException(
        key=str(number),
        matches=compile_exception_match(read(block)),
        conditions=None,
        controls=(),
        written=read(block),
    )


def facts(kind, name, namespace):
    return MatchFacts(
        group="",
        version="v1",
        kind=kind,
        subresource="",
        object_kind=kind,
        name=name,
        namespace=namespace,
        labels={},
        annotations={},
        namespace_labels={},
        operation="CREATE",
        user=None,
    )


@pytest.mark.slow
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(BLOCKS, min_size=8, max_size=10),
    st.builds(
        facts,
        st.sampled_from(["Pod", "Namespace"]),
        st.sampled_from("abx"),
        st.sampled_from(["", "a", "c"]),
    ),
)
def test_no_exception_that_covers_an_object_is_missed(blocks, about):
    exceptions = [compiled(block, number) for number, block in enumerate(blocks)]
    find = index_exceptions(exceptions)
    found = exceptions if find is None else find(about)
    assert [one.key for one in found if one.matches(about)] == [
        one.key for one in exceptions if one.matches(about)
    ]


@pytest.mark.parametrize(
    ("blocks", "asked"),
    [
        ([EXAMPLE] * 8, 8),
        ([{"resources": {"names": ["b"]}}] * 8, 0),
        ([{"resources": {"namespaces": ["b"]}}] * 7 + [EXAMPLE], 1),
        ([{"resources": {"names": ["b"]}}] * 7 + [{}], 1),
    ],
)
def test_only_those_that_may_cover_an_object_are_asked(blocks, asked):
    find = index_exceptions([compiled(block, number) for number, block in enumerate(blocks)])
    assert len(find(facts("Pod", "a", "a"))) == asked


def test_few_exceptions_and_such_as_name_nothing_have_no_index():
    assert index_exceptions([compiled(EXAMPLE, 0)] * 7) is None
    assert index_exceptions([compiled({}, 0)] * 20) is None
