# SPDX-License-Identifier: Apache-2.0
"""What a script of client actions is, and the text it is written in.

    script("lastid_with_a_semicolon", '''
    INSERT INTO u (v) VALUES ('x')
    SELECT LAST_INSERT_ID();
    B SELECT 1
    A.ping
    ''', modes="text", refuse="1235")

One step a line; a line that ends in \\ goes on in the next one; # begins a comment line. A step is
`CLIENT.VERB[FLAGS] ARGUMENTS`: the client is one capital letter (A when it is left out), the verb is left out for a
plain statement, the flags are words with commas between. A client connects at its first step, to the schema app.

verbs   (none) SQL                  a statement; in the prepared mode by PREPARE, EXECUTE, CLOSE
        text SQL                    a statement, as text in every mode       raw b'...'  the same, given as bytes
        prepare NAME SQL            execute NAME [ARG, ..]    fetch NAME N   long NAME PARAM b'...'
        stmt_reset NAME             stmt_close NAME           (a NAME of #N is the bare id N)
        ping  init_db NAME  reset  change_user USER PASSWORD [DB]  option N  statistics
        process_kill ID             COM_PROCESS_KILL
        connect [db=NAME|-] [caps=+NAME-NAME] [charset=N] [user=NAME password=P]     quit     drop (no QUIT)
        mark [SQL; SQL]             the end-of-request mark through Sluice; direct, where servers ignore it, the
                                    statements that have its documented effect
        send SQL / recv             a statement whose answer comes later
        until SQL                   waits until this SELECT of the tests' own has a true value; compares nothing
        admin SQL                   run by the tests' own connection to the server, past Sluice
flags   bind=NAME    the first value is $NAME in later steps    greeting   the value must be the greeting's id
        mask         values are not compared, only their shape  any        nothing is compared but that it is no refusal
        gone         the connection's end in whatever way       cursor, untyped    of an execute
        nometa       column definitions are not compared        keep       in the prepared mode: not closed
        unordered    rows in any order

$idA is the connection id in A's greeting. options: on, modes (text, prepared, or both), user, conf (keys of the
mysql section), refuse (a pattern: refusals of Sluice's that are allowed), globals (global variables that are put back),
clean (statements for the admin after each run)."""
import ast
import re

PREFIX = re.compile(r"([A-Z])?(?:\.([a-z_]+))?(?:\[([^\]]*)\])?(?: +|$)")
WRITES = re.compile(r"insert|update|delete|replace|create|drop|alter|truncate|load|call|rename|execute|\bf_|nextval|"
                    r"into|seq", re.I)

ALL = []
_area = "?"


class Step:
    def __init__(self, client, verb, flags, text, line):
        self.client, self.verb, self.flags, self.text, self.line = client, verb, flags, text, line

    def flag(self, name):
        return name in self.flags

    def __str__(self):
        flags = ",".join(k if v is True else f"{k}={v}" for k, v in self.flags.items())
        verb = "" if self.verb == "query" else "." + self.verb
        return f"{self.client}{verb}{f'[{flags}]' if flags else ''} {self.text}".rstrip()


def parse_step(line):
    m = PREFIX.match(line)
    if not m or not (m[1] or m[2] or m[3]):
        return Step("A", "query", {}, line, line)
    flags = {}
    for word in filter(None, (m[3] or "").split(",")):
        key, _, value = word.strip().partition("=")
        flags[key] = value or True
    return Step(m[1] or "A", m[2] or "query", flags, line[m.end():], line)


def parse(text):
    steps, held = [], ""
    for line in text.splitlines():
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        if line.endswith("\\"):
            held += line[:-1]
            continue
        steps.append(parse_step(held + line))
        held = ""
    return steps


class Script:
    def __init__(self, name, steps, area="", on="mariadb mysql9", modes="text prepared", user="app", conf=None,
                 refuse="", globals="", clean="", why=""):
        self.name, self.steps, self.area = name, steps, area
        self.on, self.modes, self.user = on.split(), modes.split(), user
        self.conf, self.refuse, self.globals = conf or {}, refuse, globals.split()
        self.clean = [s.strip() for s in clean.split(";") if s.strip()]
        self.why = why
        self.writes = any(WRITES.search(s.text) for s in steps)

    def source(self):
        """The script as it would stand in a file."""
        return f'script("{self.name}", """\n' + "".join(f"{s}\n" for s in self.steps) + '""")'


def area(name):
    """Begins a file of scripts."""
    global _area
    _area = name


def script(name, text, **options):
    if any(s.name == name for s in ALL):
        raise ValueError(f"two scripts are named {name}")
    ALL.append(Script(name, parse(text), _area, **options))


def arguments(text):
    """The arguments of an execute: Python literals."""
    return list(ast.literal_eval(f"[{text}]")) if text.strip() else []
