"""Tests for ``rescriptum.fakebmc.hooks``: what a program is told of its machine."""

from attrs import evolve
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.fakebmc.hooks import variables
from rescriptum.fakebmc.state import Changed, Override

ON = Changed("on", True, Override("Pxe", "Once", "UEFI"), "", 0)


class VariablesTests(SynchronousTestCase):
    def test_what_a_program_is_told(self) -> None:
        """An override that is disabled is none."""
        self.assertEqual(
            variables(ON),
            {
                "BMC_EVENT": "on",
                "BMC_POWER": "on",
                "BMC_BOOT": "pxe",
                "BMC_BOOT_MODE": "uefi",
                "BMC_BOOT_URI": "",
                "BMC_MEDIA": "",
            },
        )
        for target, boot in (
            (("UefiHttp", "Once", "UEFI", "http://x/"), ("http", "http://x/")),
            (("UsbCd", "Continuous"), ("cd", "")),
            (("Pxe", "Disabled", "UEFI", "http://x/"), ("", "")),
        ):
            told = variables(evolve(ON, what="off", on=False, override=Override(*target)))
            self.assertEqual((told["BMC_BOOT"], told["BMC_BOOT_URI"]), boot)
            self.assertEqual(told["BMC_POWER"], "off")
