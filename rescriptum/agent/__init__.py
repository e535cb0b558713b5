"""The core of every agent: it joins, is told what to do, does it once, and says what came of it."""
