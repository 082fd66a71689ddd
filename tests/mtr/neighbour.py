# SPDX-License-Identifier: Apache-2.0
"""A client that comes and goes all the time while the tests run, through the same Sluice and as the same user, and
moves every kind of state that is virtual: what leaks from it, or from a test to it, changes a test's result."""
import random
import threading

from harness import wire

STATEMENTS = [
    "SET NAMES latin1", "SET NAMES utf8mb4 COLLATE utf8mb4_bin", "SET @@character_set_results = NULL",
    "SET sql_mode = ''", "SET @@sql_mode = 'ANSI_QUOTES'", "SET time_zone = '+09:00'", "SET group_concat_max_len = 10",
    "SET default_storage_engine = innodb", "SET foreign_key_checks = 0", "SET lc_time_names = 'ja_JP'",
    "SET sql_safe_updates = 1", "SET sql_select_limit = 1", "SET SESSION tx_isolation = 'READ-UNCOMMITTED'",
    "SET TRANSACTION READ ONLY", "SET autocommit = 0", "SET autocommit = 1",
    "SET optimizer_switch = 'derived_merge=off'",
    "INSERT INTO mtr.neighbour (a) VALUES (1), (2)", "UPDATE mtr.neighbour SET a = a + 1 ORDER BY id LIMIT 3",
    "BEGIN", "COMMIT", "SELECT 1 UNION SELECT 2 UNION SELECT 3", "SELECT 1 / 0", "SELECT CAST('x' AS INT)",
    "SELECT nosuch", "SELECT SQL_CALC_FOUND_ROWS * FROM mtr.neighbour LIMIT 1", "SELECT LAST_INSERT_ID(7)",
    "SET @x = 1", "DO GET_LOCK('n', 0)"]
TABLE = "CREATE TABLE mtr.neighbour (id INT AUTO_INCREMENT PRIMARY KEY, a INT) ENGINE=InnoDB"


class Neighbour:
    def __init__(self, address, seed=1):
        self.address = address
        self.random = random.Random(seed)
        self.clients = self.statements = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def stop(self):
        self._stop.set()
        self._thread.join(30)

    def _run(self):
        # A pause leaves the machine to the tests; it is no synchronisation.
        while not self._stop.wait(0.002):
            try:
                self._visit()
            except (OSError, wire.Gone):
                pass

    def _visit(self):
        c = wire.Client(self.address, user="root", password="", db="mtr")
        self.clients += 1
        for sql in self.random.sample(STATEMENTS, 10):
            try:
                c.query(sql)
            except wire.ServerError:
                pass
            self.statements += 1
        if self.random.random() < 0.7:
            c.quit()
        else:
            c.close()
