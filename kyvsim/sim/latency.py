"""How long things take, in virtual seconds; what upstream leaves to the network is a guess."""

WEBHOOK = 0.005
"""From a request's arrival to the verdict on it, and again to its storage."""
NOTICE = 0.001
"""From a write to the controllers that watch for it."""
POLICY_READY = 0.1
"""From a policy's creation to its place in the admission controller's cache."""
POLICY_CHANGED = 0.02
"""From a change of a policy that acts to its new form in the cache: its webhooks are there."""
UPDATE_REQUEST = 0.01
"""From a webhook's answer to the UpdateRequest that it wants."""
PICK_UP = 0.002
"""From an UpdateRequest's being pending to an attempt at it."""
POD_START = 1.0
"""From a Pod's being bound to a node to its containers running."""
POD_RUN = 5.0
"""From the start of a Job's Pod to its success, where its command names no sleep."""
RESTART = 2.0
"""From a controller's end to its being at work again."""
RETRY = 1.0
"""From a controller's failure to its next attempt; it doubles with each."""
LONGEST_RETRY = 300.0
"""The longest time between two attempts."""
SCAN_DELAY = 30.0
"""From an object's change to its scan."""
SCAN_INTERVAL = 3600.0
"""Between two scans of everything."""
REPORT_DELAY = 10.0
"""From an ephemeral report to a look at it."""
REPORT_GIVEN_UP = 120.0
"""How long an ephemeral report waits for the object that it tells of."""
