"""The faults that a fake platform can be told to have: which requests they meet, how often, and what happens then.

    faults.add("sendMessage", "drop_after", times=2)      # applied, and the connection is cut before an answer
    faults.add(".*", "chance", rate=0.2, of=["429:1", "502", "drop_before", "drop_after", "delay:0.2"], seed=7)

Actions: `429:SECONDS`, `500`, `502` (an answer that is no JSON), `drop_before` (nothing is applied), `drop_after`, `partial` (half an answer),
`delay:SECONDS`, `hang` (nothing is said, the connection stays open), `slow` (the answer drips).
"""
import random
import re


class Faults:
    """Rules in order; the first that fits a request and is not used up decides."""

    def __init__(self):
        self.rules = []
        self.met = {}  # Action -> how often

    def add(self, method, action, times=None, rate=1.0, of=None, seed=0, where=None):
        """times None: for ever. where: a function of the parameters that has to be true."""
        rule = {"method": re.compile(method), "action": action, "left": times, "rate": rate, "of": of, "random": random.Random(seed),
                "where": where}
        self.rules.append(rule)
        return rule

    def clear(self):
        self.rules.clear()

    def pick(self, method, params):
        """The action for this request; None = no fault."""
        for rule in self.rules:
            if rule["left"] == 0 or not rule["method"].fullmatch(method) or (rule["where"] and not rule["where"](params)):
                continue
            if rule["random"].random() >= rule["rate"]:
                continue
            if rule["left"]:
                rule["left"] -= 1
            action = rule["random"].choice(rule["of"]) if rule["of"] else rule["action"]
            self.met[action] = self.met.get(action, 0) + 1
            return action
        return None
