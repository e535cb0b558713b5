"""Makes ``twistd rescriptum`` exist. Every twistd imports this: nothing of ours here."""

from twisted.application.service import ServiceMaker

rescriptum = ServiceMaker(
    "rescriptum", "rescriptum.tap", "Answer machines that boot from the network.", "rescriptum"
)
