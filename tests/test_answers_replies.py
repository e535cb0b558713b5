"""Tests for ``rescriptum.answers.replies``."""

from twisted.trial.unittest import SynchronousTestCase

from rescriptum.answers.replies import Replies, Words

from .answersets import answer_set


class RepliesTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.answers = answer_set({})

    def test_the_same_words_from_the_same_address(self) -> None:
        """Path, query, who asks, the body, and what it is said to be."""
        replies: Replies[str] = Replies()
        words = Words("/ks?a=1", "192.0.2.7", b"{", "application/json")
        replies.put(self.answers, words, "x", 1)
        self.assertEqual(replies.get(self.answers, Words(*words)), "x")
        for other in (
            words._replace(target="/ks?a=2"),
            words._replace(peer="192.0.2.8"),
            words._replace(body=b"}"),
            words._replace(kind="text/plain"),
        ):
            self.assertIsNone(replies.get(self.answers, other))

    def test_another_set_has_other_replies(self) -> None:
        """What was remembered of the one before is gone, whichever way the new one comes."""
        replies: Replies[str] = Replies()
        after, words = answer_set({}), Words("/ks", "")
        replies.put(self.answers, words, "x", 1)
        self.assertIsNone(replies.get(after, words))
        replies.put(after, Words("/other", ""), "y", 1)
        self.assertEqual(len(replies), 1)
        self.assertIsNone(replies.get(self.answers, words))
        self.assertIsNone(replies.get(after, words))

    def test_room_is_bounded(self) -> None:
        """By what strangers send as well as by what is sent; what has no room is not kept."""
        replies: Replies[str] = Replies(room=50_000)
        for number in range(1000):
            replies.put(self.answers, Words(f"/{number}", ""), "x", 100)
            self.assertLessEqual(len(replies), 50_000 // 2048)
        for words, size in (Words("/", "", b"x" * 3000), 0), (Words("/large", ""), 50_000):
            replies.put(self.answers, words, "x", size)
            self.assertIsNone(replies.get(self.answers, words))
