"""Whom a whole request claims: ``facts`` and ``selection`` together, against the plain rule."""

import json
from collections.abc import Iterator

from hypothesis import example, given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.answers.facts import INSIDE, MAX_TEXT, Facts, normalise
from rescriptum.answers.selection import Index, claims, spellings
from rescriptum.web.request import Request

#: More beginnings of identities than are looked for one by one.
MANY = [f"{each:02x}-00-00-00-00-01" for each in range(0xE0, 0xF0)] + [
    f"host-{each:c}-1" for each in b"bcdefghij"
]
UUID = "4c4c4544-0058-4b10-8031-b7c04f503933"

#: Few letters, so that identities do occur in requests, and what normalising drops.
_names = st.text(alphabet="a1F-éz", max_size=13) | st.sampled_from(["52-54-00-aa-11-ff", UUID])
_texts = _names | st.builds("{}{}{}".format, _names, st.sampled_from("-x. "), _names)
_bodies = st.recursive(
    st.none() | st.booleans() | st.integers(0, 11_111_111) | _texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_texts, inner, max_size=4),
    max_leaves=12,
)

_facts = st.sampled_from(
    ["mac", "MAC", "link", "serial", "dmi", "system", "a", "a.b", "b", "0", "", "path", "machine"]
)


def said(body: object) -> Iterator[str]:
    """Each scalar of a JSON body as text, by the plainest of walks."""
    if isinstance(body, dict):
        for each in body.values():
            yield from said(each)
    elif isinstance(body, list):
        for each in body:
            yield from said(each)
    elif body is not None:
        yield body if isinstance(body, str) else json.dumps(body)


def claimed(identities: list[str], facts: Facts) -> set[str]:
    index = Index.of((each, each) for each in identities)
    return {claim.owner for claim in index.claims(facts.values)}


def by_the_rule(identities: list[str], pieces: list[str]) -> set[str]:
    """Every spelling of every identity against every piece of the request, one by one."""
    return {
        each
        for each in identities
        if any(
            claims(spelling, normalise(piece))
            for spelling in spellings(normalise(each))
            for piece in pieces
        )
    }


class WholeRequestTests(SynchronousTestCase):
    @settings(max_examples=500, deadline=None)
    @given(
        st.lists(_names, max_size=8, unique=True).flatmap(
            lambda names: st.sampled_from((names, [*MANY, *names]))
        ),
        st.lists(_texts, max_size=3),
        st.lists(st.tuples(_texts, _texts), max_size=4),
        _bodies,
    )
    @example(["aaa111"], ["aaa", "111"], [], None)
    @example(["aaa111"], [], [("a", "aaa"), ("a", "111")], ["aaa", {"111": "aaa"}, "111"])
    @example(["aaa111"], ["aaa"], [("111", "")], {"aaa": "111"})
    @example(["true", "1", "11"], [], [], [True, 1, 11])
    def test_only_what_one_value_says(
        self,
        identities: list[str],
        segments: list[str],
        query: list[tuple[str, str]],
        body: object,
    ) -> None:
        """
        A request claims an identity when one of its pieces does, and never otherwise: pieces do
        not join, names of facts are no values, and a short identity is the whole of one.
        """
        facts = Facts.of(tuple(segments), tuple(query), json.dumps(body).encode())
        pieces = [*segments, *(value for _, value in query), *said(body)]
        self.assertEqual(claimed(identities, facts), by_the_rule(identities, pieces))

    @settings(max_examples=300, deadline=None)
    @given(st.lists(_names, max_size=8, unique=True), _texts, _texts)
    def test_a_body_that_is_no_json_is_one_piece(
        self, identities: list[str], path: str, body: str
    ) -> None:
        """It does not join what the path says."""
        facts = Facts.of((path,), (), b"@" + body.encode())
        self.assertEqual(claimed(identities, facts), by_the_rule(identities, [path, body]))

    @settings(max_examples=300, deadline=None)
    @given(st.lists(_names, max_size=8, unique=True), st.text("/?&=+%a1F-2", max_size=30))
    def test_a_target_is_split_before_it_is_looked_at(
        self, identities: list[str], target: str
    ) -> None:
        """No identity is found across a slash, an ampersand or an equals sign, escaped or not."""
        request = Request("GET", "/" + target, ("192.0.2.7", 1))
        pieces = [*request.segments, *(value for _, value in request.query)]
        facts = Facts.of(request.segments, request.query)
        self.assertEqual(claimed(identities, facts), by_the_rule(identities, pieces))

    @settings(max_examples=100, deadline=None)
    @given(st.integers(0, INSIDE + 2), st.text("a1", min_size=1, max_size=INSIDE + 2))
    def test_what_is_cut_off_makes_no_short_identity(self, left: int, value: str) -> None:
        """
        Beyond the bound nothing is looked at: what is left of a value that is cut there is not
        the whole of it, so that it claims no identity that is short.
        """
        facts = Facts.of((), (("a", "x" * (MAX_TEXT - left)), ("b", value)))
        identities = [value[:size] for size in range(1, INSIDE)]
        whole = {value} if len(value) < INSIDE and len(value) <= left else set()
        self.assertEqual(claimed(sorted({*identities}), facts), whole)

    @settings(max_examples=300, deadline=None)
    @given(
        st.lists(_texts, max_size=2),
        st.lists(st.tuples(_facts, _texts), max_size=4),
        st.recursive(
            _texts,
            lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_facts, inner, max_size=4),
            max_leaves=10,
        ),
    )
    def test_one_fact_is_what_all_facts_say_it_is(
        self, segments: list[str], query: list[tuple[str, str]], body: object
    ) -> None:
        """Looked up alone a fact has the values, in the order, that it has among the others."""
        facts = Facts.of(tuple(segments), tuple(query), json.dumps(body).encode())
        for name in (*facts.names, "mac", "none", "0", "a.b"):
            self.assertEqual(facts.texts(name.upper()), facts.labels.get(name, ()), name)


class ChangedTests(SynchronousTestCase):
    @settings(max_examples=300, deadline=None)
    @given(
        st.lists(st.tuples(_names, st.sampled_from("xy")), max_size=8),
        st.lists(st.tuples(_names, st.sampled_from("xy")), max_size=8),
    )
    def test_nothing_is_left_of_what_is_gone(
        self, before: list[tuple[str, str]], after: list[tuple[str, str]]
    ) -> None:
        """An index that was changed a thousand times is as small as a new one."""
        changed = Index.of(before).changed(before, after)
        new = Index.of(after)
        self.assertEqual(changed.known.keys(), new.known.keys())
        for each, fresh in (changed.digits, new.digits), (changed.others, new.others):
            self.assertEqual(
                (each.starts, each.lengths, each.shortest),
                (fresh.starts, fresh.lengths, fresh.shortest),
            )
