"""Tests for ``rescriptum.answers.explain`` and ``rescriptum.answers.origins``."""

from twisted.trial.unittest import SynchronousTestCase

from rescriptum.answers.explain import Explanation, explain
from rescriptum.answers.origins import Origin

from .answersets import Files, answer_set, facts_of

MAC = "52-54-00-00-00-01"

FILES = {
    "groups/base/x.toml": '[global]\nkeyboard = "de"\ncountry = "de"\n',
    "groups/dell/x.toml": (
        f'extends = "base"\nmembers = ["{MAC}"]\n[global]\ncountry = "at"\n'
        'fqdn = "{{ serial }}.example.com"\n'
    ),
    "groups/hp/x.toml": '[match]\nmanufacturer = "HP*"\n[global]\n',
    "groups/any/x.toml": '[match]\nmanufacturer = "D*"\n[global]\n',
    f"{MAC}/x.toml": '[disk-setup]\nfilesystem = "ext4"\n',
    f"{MAC}/x.ks": "text\n",
    "default/x.toml": "[global]\n",
}


def explained(files: Files, target: str) -> Explanation:
    return explain(answer_set(files), facts_of(target))


class CandidatesTests(SynchronousTestCase):
    def test_who_won_and_why_each_lost(self) -> None:
        """The strongest claim first; what claims nothing says what it wants."""
        found = explained(FILES, f"/pve/{MAC}?manufacturer=Dell&serial=S1").candidates
        self.assertEqual(
            [(each.source, each.role, each.won) for each in found],
            [
                (f"{MAC}/x.toml", "machine", True),
                ("groups/dell/x.toml", "group", True),
                ("groups/any/x.toml", "group", False),
                ("groups/base/x.toml", "group", True),
                ("groups/hp/x.toml", "group", False),
                ("default/x.toml", "default", False),
            ],
        )
        why = {each.source: each.why for each in found}
        self.assertEqual(why["groups/dell/x.toml"], f"its member {MAC} is named")
        self.assertEqual(
            why["groups/any/x.toml"],
            "manufacturer = D* holds, but another claims it more closely, or comes first by name",
        )
        self.assertEqual(
            why["groups/hp/x.toml"], "manufacturer = HP* does not hold: the request says Dell"
        )
        self.assertEqual(why["groups/base/x.toml"], "groups/dell/x.toml extends it")
        self.assertEqual(why["default/x.toml"], "the request is claimed")

    def test_a_layer_that_claims_nothing_itself(self) -> None:
        """It is there because another extends it, whatever members and criteria it has."""
        files = {
            "groups/base/x.ks": "# answer: member a1b2c3\n",
            "groups/rack/x.ks": "# answer: match serial=s*\n# answer: extends base\n",
            "groups/own/x.ks": f"# answer: member {MAC}\n",
            f"{MAC}/x.ks": "# answer: extends rack\n",
        }
        found = explained(files, f"/ks/{MAC}").candidates
        self.assertEqual(
            [(each.source, each.why) for each in found if each.won],
            [
                (f"{MAC}/x.ks", f"{MAC} is named"),
                ("groups/base/x.ks", "groups/rack/x.ks extends it"),
                ("groups/rack/x.ks", f"{MAC}/x.ks extends it"),
            ],
        )

    def test_several_members_are_named(self) -> None:
        """The one that counts is told."""
        files = {"groups/g/x.ks": f"# answer: member a1b2c3, {MAC}, d4e5f6\n"}
        for target in (f"/ks/a1b2c3/{MAC}/d4e5f6", f"/ks/d4e5f6/{MAC}/a1b2c3"):
            [group] = explained(files, target).candidates
            self.assertEqual(group.why, f"its member {MAC} is named")

    def test_a_fact_that_nobody_said(self) -> None:
        found = explained(FILES, "/pve").candidates
        why = {each.source: each.why for each in found}
        self.assertEqual(
            why["groups/hp/x.toml"],
            "manufacturer = HP* does not hold: the request says nothing of it",
        )
        self.assertEqual(why["groups/dell/x.toml"], f"its member {MAC} is not named")
        self.assertEqual(why["default/x.toml"], "nothing claims the request")
        self.assertTrue(next(each for each in found if each.role == "default").won)

    def test_formats_that_lost(self) -> None:
        """Without an alias another format may win; with one, others are not asked for."""
        why = {each.source: each.why for each in explained(FILES, f"/{MAC}?serial=S1").candidates}
        self.assertEqual(why[f"{MAC}/x.ks"], f"{MAC} is named, but toml was chosen")
        found = explained({f"{MAC}/x.ks": ""}, f"/pve/{MAC}").candidates
        self.assertEqual(found[0].why, "named, but in a format not asked for")

    def test_extends_of_the_machine(self) -> None:
        files = {**FILES, f"{MAC}/x.toml": 'extends = "base"\n'}
        why = {each.source: each.why for each in explained(files, f"/pve/{MAC}").candidates}
        self.assertEqual(
            why["groups/dell/x.toml"],
            f"its member {MAC} is named, but {MAC}/x.toml extends base",
        )

    def test_another_interface_of_the_machine(self) -> None:
        """S48: it is known by one address and boots from another."""
        found = explained({f"{MAC}/x.ks": ""}, f"/ks/{MAC}?mac=52:54:00:00:00:02").candidates
        self.assertEqual(found[0].why, f"{MAC} is named, though it boots from 52:54:00:00:00:02")
        found = explained({f"{MAC}/x.ks": ""}, "/ks?mac=52:54:00:00:00:01").candidates
        self.assertEqual(found[0].why, f"{MAC} is named")

    def test_a_broken_group_is_said_to_be(self) -> None:
        files = {"groups/a/x.toml": f'extends = "none"\nmembers = ["{MAC}"]\n'}
        found = explained(files, f"/pve/{MAC}")
        self.assertIn("and it is broken: extends none, which is no group", found.candidates[0].why)
        self.assertIn("groups/a/x.toml: extends none", found.error)
        self.assertEqual(found.values, ())


class OriginTests(SynchronousTestCase):
    def test_each_value_and_its_layer(self) -> None:
        """Filled; the highest layer that has it."""
        found = explained(FILES, f"/pve/{MAC}?serial=S1")
        layers = ("groups/base/x.toml", "groups/dell/x.toml", f"{MAC}/x.toml")
        self.assertEqual(found.layers, layers)
        self.assertEqual(
            {each.path: (each.text.strip('"'), each.source) for each in found.values},
            {
                "global.keyboard": ("de", layers[0]),
                "global.country": ("at", layers[1]),
                "global.fqdn": ("S1.example.com", layers[1]),
                "disk-setup.filesystem": ("ext4", layers[2]),
            },
        )
        self.assertEqual(found.error, "")

    def test_what_cannot_be_filled_is_shown_as_it_is(self) -> None:
        found = explained(FILES, f"/pve/{MAC}")
        [value] = [each for each in found.values if each.path == "global.fqdn"]
        self.assertIn("{{ serial }}.example.com", value.text)
        self.assertIn("template needs {{ serial }}", found.error)

    def test_lines_of_text(self) -> None:
        """In the order of the layers, equal lines in several of them told apart; no comments."""
        files = {
            "groups/g/x.ks": f"# answer: member {MAC}\ntext\n# why\nrootpw --lock\nurl {{{{mac}}}}"
            "\n",
            f"{MAC}/x.ks": "text\nreboot\n",
        }
        found = explained(files, "/ks?mac=52:54:00:00:00:01")
        self.assertEqual(
            [(each.source, each.text) for each in found.values],
            [
                ("groups/g/x.ks", "text"),
                ("groups/g/x.ks", "rootpw --lock"),
                ("groups/g/x.ks", "url 52:54:00:00:00:01"),
                (f"{MAC}/x.ks", "text"),
                (f"{MAC}/x.ks", "reboot"),
            ],
        )

    def test_a_part_that_is_made_up_has_no_layers(self) -> None:
        """And says so."""
        found = explained({f"{MAC}/x.yaml": "a: 1\n"}, f"/ubuntu/{MAC}/meta-data")
        self.assertEqual((found.layers, found.error), ((), ""))
        self.assertEqual(found.values, (Origin("instance-id", MAC, "(made up)"),))
        found = explained({f"{MAC}/x.yaml": "a: 1\n"}, f"/ubuntu/{MAC}/vendor-data")
        self.assertEqual((found.layers, found.values, found.error), ((), (), ""))

    def test_a_part_of_a_seed(self) -> None:
        """Whose user-data it goes with, and that this was not asked for."""
        files = {
            "groups/g/x.yaml": f"members: ['{MAC}']\n",
            "groups/g/network-config": "version: 2\n",
            f"{MAC}/network-config": "ethernets: {}\n",
        }
        found = explained(files, f"/ubuntu/{MAC}/network-config")
        self.assertEqual(
            [(each.source, each.won, each.why) for each in found.candidates],
            [
                (f"{MAC}/network-config", True, f"{MAC} is named"),
                (
                    "groups/g/x.yaml",
                    False,
                    f"its member {MAC} is named, but network-config was asked for, beside it",
                ),
                ("groups/g/network-config", True, "beside user-data, or through extends"),
            ],
        )
