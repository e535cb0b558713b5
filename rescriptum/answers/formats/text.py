"""Line-oriented documents: kickstart, preseed, iPXE, configuration. One text, filled as a whole."""

from ..template import OPEN, Template


def parse(data: bytes) -> bytes | Template:
    """
    :returns: the document's own bytes when nothing in it is to be filled. A placeholder in a
        comment counts: what a comment is, differs from one of these formats to the next.
    :raises MalformedDocument: for a placeholder that cannot be read.
    """
    if OPEN.encode("ascii") not in data:
        return data
    return Template.parse(data.decode("utf-8", "surrogateescape"))
