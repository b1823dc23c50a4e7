import sys

sys.path.insert(0, "/work/rehearse")
from tests.support import browser

print([n for n in dir(browser) if not n.startswith("_")])
