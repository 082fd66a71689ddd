# SPDX-License-Identifier: Apache-2.0
"""Hostile neighbours: other clients of the same user and pool, that between two steps of a script take every backend
they can, leave another last statement there, and run it in a session that differs in whatever can differ.

There are two, so that both backends of a pool of 2 change hands. What a neighbour begins a turn with ends by itself:
when the script's clients hold every backend it waits in the queue, and must not hold the one it gets."""
import select
import zlib

from harness import wire
from harness.procs import until

PATIENCE_S = 0.025
# The flags that make another pool.
KEY = wire.FOUND_ROWS | wire.LOCAL_FILES

# Moves LAST_INSERT_ID() and ROW_COUNT(), long enough for both neighbours to be at work at once.
OPENING = "INSERT INTO app2.nlog (v) SELECT SLEEP(0.001) UNION ALL SELECT 'y' UNION ALL SELECT 'z'"
READ_OPENING = "SELECT SLEEP(0.001) UNION ALL SELECT 2"
# FOUND_ROWS() of 7, no warnings.
CLOSING = "SELECT 0 UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4 " \
          "UNION ALL SELECT 5 UNION ALL SELECT 6"

# What a neighbour does between the two, in turn. A word in capitals with a dot is a command; "fresh" is done by a
# connection of its own that then goes. An error is as welcome as a result.
PINLESS = [
    ["SET NAMES latin1", "SET sql_mode = 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES,PIPES_AS_CONCAT'"],
    ["SET time_zone = '-11:00'", "SET lc_time_names = 'de_DE'", "SET group_concat_max_len = 5",
     "SET div_precision_increment = 9", "SET sql_auto_is_null = 1", "SET default_week_format = 7"],
    ["USE app2", "SET sql_select_limit = 1", "SET foreign_key_checks = 0", "SET unique_checks = 0"],
    ["SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED", "SET autocommit = 0",
     "INSERT INTO app2.nlog (v) VALUES ('rolled back')", "ROLLBACK", "SET autocommit = 1"],
    [".init_db shop", "SET character_set_results = NULL", "SET sql_mode = 'IGNORE_SPACE,NO_ENGINE_SUBSTITUTION'"],
    ["SET NAMES utf8mb4 COLLATE utf8mb4_bin", "SET SESSION TRANSACTION READ ONLY", "SELECT COUNT(*) FROM app2.nlog",
     "SET SESSION TRANSACTION READ WRITE"],
    ["SET sql_safe_updates = 1", "SET max_join_size = 1", "SET sql_big_selects = 0", "SET wait_timeout = 77"],
    ["BEGIN", "INSERT INTO app2.nlog (v) VALUES ('in a transaction')", "ROLLBACK",
     "START TRANSACTION", "INSERT INTO app2.nlog (v) VALUES ('kept')", "COMMIT"],
    ["SET NAMES cp1251", "SET collation_connection = 'cp1251_bin'", "SET auto_increment_increment = 7",
     "SET auto_increment_offset = 3"],
    ["SET sql_mode = ''", "SELECT CAST('zzz' AS SIGNED)", "SHOW WARNINGS", "SELECT nothing FROM nowhere"],
    ["PREPARE.", "SET sql_mode = 'ANSI_QUOTES,IGNORE_SPACE'", "PREPARE.", "USE app2", "PREPARE."],
    ["SELECT SQL_CALC_FOUND_ROWS id FROM app2.nlog LIMIT 2", "SELECT FOUND_ROWS()", "SELECT ROW_COUNT()"],
]
PINNING = [
    ["SET @a = 'neighbour', @x = 'neighbour', @v = 'neighbour'", "SELECT @y := 'neighbour'", ".reset"],
    ["CREATE TEMPORARY TABLE app.t (neighbour INT)", "CREATE TEMPORARY TABLE app.u (neighbour INT)",
     "INSERT INTO app.t VALUES (666)", "DROP TEMPORARY TABLE app.t", "DROP TEMPORARY TABLE app.u", ".reset"],
    ["SELECT GET_LOCK('neighbour', 0)", "SELECT RELEASE_LOCK('neighbour')", ".reset"],
    ["PREPARE p FROM 'SELECT 666'", "PREPARE s FROM 'SELECT 666'", "EXECUTE p", ".reset"],
    ["LOCK TABLES app2.nlog WRITE", "INSERT INTO app2.nlog (v) VALUES ('locked')", "UNLOCK TABLES", ".reset"],
    ["CALL app.p_tz()", "CALL app.p_var()", ".reset"],
    ["SET rand_seed1 = 5, rand_seed2 = 6, timestamp = 86400, insert_id = 950000", ".reset"],
    ["SET last_insert_id = 987654321", "SELECT LAST_INSERT_ID()", ".reset"],
    [".change_user", "CALL app.p_fail()", ".change_user"],
    ["HANDLER app.t OPEN", "HANDLER app.t READ FIRST", ".reset"],
    ["XA START 'neighbour'", "XA END 'neighbour'", "XA ROLLBACK 'neighbour'", ".reset"],
    ["SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE", "SET TRANSACTION READ ONLY", ".reset"],
    ["BEGIN; INSERT INTO app2.nlog (v) VALUES ('multi'); SELECT 1; ROLLBACK; SET @m = 1", ".reset"],
    ["fresh", "USE app2", "SET NAMES latin1", "SET time_zone = '-03:00', sql_mode = ''",
     "SELECT 1"],
    ["fresh", "SET autocommit = 0", "INSERT INTO app2.nlog (v) VALUES ('abandoned')"],
]


def skip_results(c):
    """Reads one command's reply to its end, without a look at what it says."""
    while True:
        payload = c.read_packet()
        if payload[0] == 0xFF:
            return
        if payload[0] == 0:
            pos = wire.read_lenenc(payload, wire.read_lenenc(payload, 1)[1])[1]
            status = payload[pos]
        else:
            ends = 0
            while ends < 2:
                payload = c.read_packet()
                if payload[0] == 0xFF:
                    return
                ends += payload[0] == 0xFE and len(payload) < 9
            status = payload[3]
        if not status & wire.MORE_RESULTS:
            return


class Neighbour:
    def __init__(self, connect):
        self.connect = connect
        self.client = connect()
        self.waiting = False

    def send(self, sql):
        self.client.send_query(sql)
        self.waiting = True

    def collect(self, patience):
        """True when the answer is in; else it stays due."""
        if not self.waiting:
            return True
        if not self.client.buffer and not select.select([self.client.sock], [], [], patience)[0]:
            return False
        self.waiting = False
        skip_results(self.client)
        return True

    def run(self, actions, texts):
        """One list of actions. When an answer does not come in time it goes: it may hold what the script needs."""
        for action in actions:
            if action == "PREPARE.":
                self.prepare(texts)
            elif action.startswith("."):
                self.command(action)
            else:
                self.send(action)
                if not self.collect(PATIENCE_S * 8):
                    self.renew()
                    return

    def renew(self):
        self.client.close()
        self.client = self.connect()
        self.waiting = False

    def prepare(self, texts):
        """Prepares what the script is about to say, in this other session; runs nothing."""
        for sql in texts:
            try:
                self.client.close_statement(self.client.prepare(sql))
            except wire.ServerError:
                pass

    def command(self, action):
        try:
            name, _, rest = action[1:].partition(" ")
            if name == "init_db":
                self.client.use(rest)
            elif name == "reset":
                self.client.reset()
            else:
                self.client.change_user(self.client.user, self.client.password.decode(), "app2")
        except wire.ServerError:
            pass

    def reset(self):
        self.command(".reset")


class Neighbours:
    """pinned(): the pins that there are. What pins nothing a neighbour keeps, and goes on in its strange session in its
    next turn; after a turn that would keep a backend from the script's clients it resets its session."""

    def __init__(self, address, user, password, caps, pinned):
        caps = wire.PHP_CAPS | caps & KEY

        def connect():
            return wire.Client(address, user, password, db="app", caps=caps, timeout=20)
        self.connect = connect
        self.all = [Neighbour(connect), Neighbour(connect)]
        self.turn = 0
        self.quiet = False
        self.keeps = {id(actions): self.pins_nothing(actions, pinned) for actions in PINLESS}

    def pins_nothing(self, actions, pinned):
        before = pinned()
        one = Neighbour(self.connect)
        one.run(actions, [])
        nothing = pinned() == before
        one.client.quit()
        until("the pins of a trial to end", lambda: pinned() == before)
        return nothing

    def begin(self, script):
        """A script's turns depend on its name only, so that a failure repeats."""
        self.settle()
        self.turn = zlib.crc32(script.name.encode()) % 997
        self.quiet = any("READ LOCK" in s.text.upper() or "BACKUP" in s.text.upper() for s in script.steps)
        for n in self.all:
            n.reset()

    def settle(self):
        """Until each has its answer: a queued one gets a backend, or queue_timeout's error, in the end."""
        for n in self.all:
            while not n.collect(10):
                pass

    def steal(self, texts):
        free = [n for n in self.all if self.back(n)]
        for n in free:
            n.send(READ_OPENING if self.quiet else OPENING)
        free = [n for n in free if n.collect(PATIENCE_S)]
        if not free:
            return
        self.turn += 1
        actor = free.pop(self.turn // 2 % len(free))
        if not self.quiet:
            self.act(actor, texts)
        for n in free if self.turn & 1 else []:
            n.send(CLOSING)
            n.collect(PATIENCE_S)

    def back(self, n):
        """Has one that was left waiting got its answer by now?"""
        if not n.waiting:
            return True
        if not n.collect(0):
            return False
        n.reset()
        return True

    def act(self, n, texts):
        """What one of them does in this turn, while the other leaves 7 rows behind."""
        turns = PINNING if self.turn % 3 == 0 else PINLESS
        actions = turns[self.turn // 3 % len(turns) if turns is PINNING else self.turn % len(turns)]
        if actions[0] == "fresh":
            self.fresh(actions[1:])
            return
        n.run(actions, texts)
        if not self.keeps.get(id(actions)):
            n.reset()

    def fresh(self, actions):
        one = Neighbour(self.connect)
        one.run(actions, [])
        one.client.close()

    def close(self):
        for n in self.all:
            n.client.close()
