<?php
// SPDX-License-Identifier: Apache-2.0
// Doctrine DBAL over pdo_mysql and over mysqli, as Symfony configures them. MODE=deadlock, MODE=rival: two transactions
// that lock each other out, in two processes.
declare(strict_types=1);

require __DIR__ . '/lib.php';
require_once 'Doctrine/DBAL/autoload.php';

use Doctrine\DBAL\ArrayParameterType;
use Doctrine\DBAL\Connection;
use Doctrine\DBAL\DriverManager;
use Doctrine\DBAL\Exception\DeadlockException;
use Doctrine\DBAL\LockMode;
use Doctrine\DBAL\ParameterType;
use Doctrine\DBAL\Schema\Comparator;
use Doctrine\DBAL\Schema\Schema;
use Doctrine\DBAL\Schema\Table;
use Doctrine\DBAL\TransactionIsolationLevel as Isolation;
use Doctrine\DBAL\Types\Types;

function connection(string $driver, array $options = []): Connection
{
    $where = getenv('DB_UNIX') ? ['unix_socket' => getenv('DB_SOCKET')]
        : ['host' => getenv('DB_HOST'), 'port' => (int) getenv('DB_PORT')];
    return DriverManager::getConnection($where + ['driver' => $driver, 'dbname' => getenv('DB_NAME'),
        'user' => getenv('DB_USER'), 'password' => getenv('DB_PASSWORD'), 'charset' => 'utf8mb4',
        'driverOptions' => $options]);
}

const PLACES = PREFIX . 'places';
const VISITS = PREFIX . 'visits';

function schema(Connection $c): void
{
    $m = $c->createSchemaManager();
    foreach ([VISITS, PLACES, PREFIX . 'moved'] as $table) {
        if ($m->tablesExist([$table])) {
            $m->dropTable($table);
        }
    }
    $s = new Schema();
    $places = $s->createTable(PLACES);
    $places->addColumn('id', Types::INTEGER, ['autoincrement' => true, 'unsigned' => true]);
    $places->addColumn('name', Types::STRING, ['length' => 80]);
    $places->addColumn('lat', Types::DECIMAL, ['precision' => 9, 'scale' => 6, 'notnull' => false]);
    $places->addColumn('facts', Types::JSON, ['notnull' => false]);
    $places->addColumn('seen', Types::DATETIME_IMMUTABLE, ['notnull' => false]);
    $places->addColumn('open', Types::BOOLEAN, ['default' => true]);
    $places->setPrimaryKey(['id']);
    $places->addUniqueIndex(['name'], PREFIX . 'name');
    $visits = $s->createTable(VISITS);
    $visits->addColumn('id', Types::BIGINT, ['autoincrement' => true]);
    $visits->addColumn('place_id', Types::INTEGER, ['unsigned' => true]);
    $visits->addColumn('at', Types::DATE_MUTABLE);
    $visits->addColumn('note', Types::TEXT, ['notnull' => false]);
    $visits->addColumn('photo', Types::BLOB, ['notnull' => false]);
    $visits->setPrimaryKey(['id']);
    $visits->addForeignKeyConstraint($places, ['place_id'], ['id'], ['onDelete' => 'CASCADE'], PREFIX . 'fk');
    foreach ($s->toSql($c->getDatabasePlatform()) as $sql) {
        $c->executeStatement($sql);
    }
    saw('columns', array_map(fn ($col) => [$col->getType()::class, $col->getNotnull(), $col->getLength()],
        $m->listTableColumns(PLACES)));
    // The server lists them in no certain order.
    $indexes = array_map(fn ($i) => [$i->getColumns(), $i->isUnique()], $m->listTableIndexes(PLACES));
    ksort($indexes);
    saw('indexes', $indexes);
    saw('foreign keys', array_map(fn ($k) => [$k->getName(), $k->getForeignTableName(), $k->onDelete()],
        array_values($m->listTableForeignKeys(VISITS))));
    $old = $m->introspectTable(PLACES);
    $new = clone $old;
    $new->addColumn('country', Types::STRING, ['length' => 2, 'default' => 'xx']);
    $new->getColumn('name')->setLength(120);
    $new->addIndex(['country', 'open'], PREFIX . 'by_country');
    $m->alterTable((new Comparator($c->getDatabasePlatform()))->compareTables($old, $new));
    saw('altered', [count($m->listTableColumns(PLACES)), count($m->listTableIndexes(PLACES))]);
    $m->createTable(new Table(PREFIX . 'move', [new Doctrine\DBAL\Schema\Column('n', Doctrine\DBAL\Types\Type::getType('integer'))]));
    $m->renameTable(PREFIX . 'move', PREFIX . 'moved');
    saw('renamed', [$m->tablesExist([PREFIX . 'move']), $m->tablesExist([PREFIX . 'moved'])]);
    $m->dropTable(PREFIX . 'moved');
    saw('diff again', count($s->toSql($c->getDatabasePlatform())));
    saw('names', array_values(array_intersect([PLACES, VISITS], $m->listTableNames())));
}

function crud(Connection $c): void
{
    foreach (['Oslo' => 59.9, 'Łódź' => 51.7, 'Kyōto' => 35.0] as $name => $lat) {
        $c->insert(PLACES, ['name' => $name, 'lat' => $lat, 'facts' => ['old' => true], 'open' => $name !== 'Oslo',
            'seen' => new DateTimeImmutable('2026-01-02 03:04:05')], ['facts' => Types::JSON, 'open' => Types::BOOLEAN,
            'seen' => Types::DATETIME_IMMUTABLE]);
        $ids[] = (int) $c->lastInsertId();
    }
    saw('ids', $ids);
    foreach (range(1, 30) as $n) {
        $c->insert(VISITS, ['place_id' => $ids[$n % 3], 'at' => new DateTime("2026-02-$n"), 'note' => "nr $n 100%_sure"],
            ['at' => Types::DATE_MUTABLE]);
    }
    saw('last id', [$c->lastInsertId(), $c->fetchOne('SELECT LAST_INSERT_ID()'), $c->fetchOne('SELECT 5')]);
    saw('explicit id', [$c->insert(VISITS, ['id' => 1000, 'place_id' => $ids[0], 'at' => '2026-03-01']),
        $c->fetchOne('SELECT LAST_INSERT_ID()')]);
    saw('update', [$c->update(PLACES, ['lat' => 1], ['name' => 'Oslo']), $c->update(PLACES, ['lat' => 1], ['name' => 'Oslo'])]);
    saw('delete', $c->delete(VISITS, ['id' => 1000]));
    saw('row', $c->fetchAssociative('SELECT * FROM ' . PLACES . ' WHERE id = ?', [$ids[1]]));
    saw('typed', array_map(fn ($t) => $c->convertToPHPValue($t[0], $t[1]), [['{"a":[1]}', Types::JSON], ['1', Types::BOOLEAN]]));
    saw('key value', $c->fetchAllKeyValue('SELECT id, name FROM ' . PLACES . ' ORDER BY id'));
    saw('by id', $c->fetchAllAssociativeIndexed('SELECT id, name, open FROM ' . PLACES . ' ORDER BY id'));
    saw('column', $c->fetchFirstColumn('SELECT note FROM ' . VISITS . ' ORDER BY id LIMIT 3'));
    saw('limit bound', $c->fetchFirstColumn('SELECT id FROM ' . VISITS . ' ORDER BY id LIMIT ? OFFSET ?', [4, 3],
        [ParameterType::INTEGER, ParameterType::INTEGER]));
    saw('list', $c->fetchOne('SELECT COUNT(*) FROM ' . VISITS . ' WHERE place_id IN (:ids) AND note LIKE :like',
        ['ids' => [$ids[0], $ids[2]], 'like' => 'nr%'], ['ids' => ArrayParameterType::INTEGER]));
    saw('like', $c->fetchFirstColumn('SELECT note FROM ' . VISITS . ' WHERE note LIKE ? ORDER BY id',
        ['nr 1_ ' . addcslashes('100%_', '%_') . '%']));
    $blob = random_bytes(90000);
    $f = fopen('php://memory', 'r+');
    fwrite($f, $blob);
    rewind($f);
    $c->update(VISITS, ['photo' => $f], ['id' => 3], ['photo' => ParameterType::LARGE_OBJECT]);
    saw('blob', hash_equals(hash('sha256', $blob), $c->fetchOne('SELECT SHA2(photo, 256) FROM ' . VISITS . ' WHERE id = 3')));
}

function builder(Connection $c): void
{
    $q = fn () => $c->createQueryBuilder();
    saw('join', $q()->select('p.name', 'COUNT(v.id) n', 'MAX(v.at) last')->from(PLACES, 'p')
        ->leftJoin('p', VISITS, 'v', 'v.place_id = p.id')->groupBy('p.id', 'p.name')->having('COUNT(v.id) > :n')
        ->setParameter('n', 2, ParameterType::INTEGER)->orderBy('p.name')->fetchAllAssociative());
    saw('page', $q()->select('id')->from(VISITS)->where('at >= :d')->setParameter('d', new DateTime('2026-02-10'),
        Types::DATE_MUTABLE)->orderBy('id', 'DESC')->setFirstResult(5)->setMaxResults(5)->fetchFirstColumn());
    $e = $c->createExpressionBuilder();
    saw('expression', $q()->select('COUNT(*)')->from(VISITS)->where($e->and($e->or('id < 5', 'id > 27'),
        $e->isNotNull('note')))->fetchOne());
    saw('insert', $q()->insert(PLACES)->values(['name' => '?'])->setParameter(0, "O'Brien's \\ \"?\"")->executeStatement());
    saw('update', $q()->update(PLACES)->set('open', ':o')->where('name LIKE :n')->setParameter('o', false,
        Types::BOOLEAN)->setParameter('n', "O'%")->executeStatement());
    saw('delete', $q()->delete(PLACES)->where("name LIKE 'O''%'")->executeStatement());
    $st = $c->prepare('SELECT id FROM ' . VISITS . ' WHERE id > ? AND note LIKE ? ORDER BY id LIMIT 2');
    foreach ([0, 10, 25] as $from) {
        $st->bindValue(1, $from, ParameterType::INTEGER);
        $st->bindValue(2, 'nr %');
        $got[] = $st->executeQuery()->fetchFirstColumn();
        // The statement outlives what is done in between.
        $c->update(PLACES, ['lat' => $from], ['id' => 1]);
    }
    saw('prepared again', $got);
    $sum = 0;
    foreach ($c->iterateAssociative('SELECT id FROM ' . VISITS . ' ORDER BY id') as $row) {
        $sum += $row['id'];
    }
    foreach ($c->iterateColumn('SELECT id FROM ' . VISITS . ' WHERE id > ?', [25]) as $id) {
        $sum += $id;
    }
    saw('iterated', $sum);
}

function transactions(Connection $c): void
{
    $count = fn () => $c->fetchOne('SELECT COUNT(*) FROM ' . PLACES);
    $add = fn ($name) => $c->insert(PLACES, ['name' => $name]);
    $c->transactional(fn () => $add('kept'));
    saw('thrown', thrown(fn () => $c->transactional(function () use ($add) {
        $add('lost');
        throw new RuntimeException('on purpose');
    }))[0]);
    saw('rolled back', $count());
    $c->setNestTransactionsWithSavepoints(true);
    $c->beginTransaction();
    $add('outer');
    $c->beginTransaction();
    $add('inner');
    saw('nesting', [$c->getTransactionNestingLevel(), $c->isTransactionActive()]);
    $c->rollBack();
    $c->createSavepoint('mine');
    $add('after mine');
    $c->rollbackSavepoint('mine');
    $c->commit();
    saw('savepoints', $c->fetchFirstColumn('SELECT name FROM ' . PLACES . ' ORDER BY id'));
    foreach ([Isolation::READ_UNCOMMITTED, Isolation::SERIALIZABLE, Isolation::READ_COMMITTED, Isolation::REPEATABLE_READ] as $level) {
        $c->setTransactionIsolation($level);
        $v = str_contains($c->fetchOne('SELECT VERSION()'), 'MariaDB') ? 'tx_isolation' : 'transaction_isolation';
        saw("isolation $level", [$c->fetchOne("SELECT @@session.$v"), $c->getTransactionIsolation()]);
    }
    // Doctrine begins a transaction by itself at the connection's start, and after each end of one.
    $c->setAutoCommit(false);
    $c->close();
    $add('no autocommit');
    saw('no autocommit', [$c->isTransactionActive(), $c->getTransactionNestingLevel()]);
    $c->rollBack();
    $c->setAutoCommit(true);
    saw('gone', $count());
    $c->beginTransaction();
    saw('locked', $c->fetchOne('SELECT name FROM ' . PLACES . ' WHERE id = 1 FOR UPDATE'));
    saw('lock hint', $c->getDatabasePlatform()->appendLockHint('x', LockMode::PESSIMISTIC_WRITE));
    $c->commit();
    $c->beginTransaction();
    saw('unique in a transaction', thrown(fn () => $add('kept')));
    $add('goes on');
    $c->commit();
    saw('went on', $count());
}

function errors(Connection $c): void
{
    saw('unique', thrown(fn () => $c->insert(PLACES, ['name' => 'kept'])));
    saw('foreign key', thrown(fn () => $c->insert(VISITS, ['place_id' => 999, 'at' => '2026-01-01']))[0]);
    saw('not null', thrown(fn () => $c->insert(PLACES, ['name' => null]))[0]);
    saw('syntax', thrown(fn () => $c->executeQuery('SELEC 1'))[0]);
    saw('no table', thrown(fn () => $c->executeQuery('SELECT * FROM nonesuch'))[0]);
    saw('no column', thrown(fn () => $c->executeQuery('SELECT nonesuch FROM ' . PLACES))[0]);
    saw('ambiguous', thrown(fn () => $c->executeQuery('SELECT id FROM ' . PLACES . ' a, ' . PLACES . ' b'))[0]);
    saw('too long', thrown(fn () => $c->insert(PLACES, ['name' => str_repeat('x', 500)]))[0]);
    saw('still there', $c->fetchOne('SELECT 1'));
    $c->close();
    saw('connects again', [$c->fetchOne('SELECT 2'), $c->getDatabase()]);
}

function settle(Connection $c): void
{
    $c->executeStatement('DROP TABLE IF EXISTS ' . PREFIX . 'rows');
    $c->executeStatement('CREATE TABLE ' . PREFIX . 'rows (id INT PRIMARY KEY, n INT NOT NULL)');
    foreach (range(1, 200) as $id) {
        $c->insert(PREFIX . 'rows', ['id' => $id, 'n' => 0]);
    }
}

/** Holds row 2 and much more, so that the server chooses the other one; wants row 1. */
function rival(Connection $c): void
{
    $c->beginTransaction();
    $c->executeStatement('UPDATE ' . PREFIX . 'rows SET n = n + 1 WHERE id >= 2');
    echo "held\n";
    $c->executeStatement('UPDATE ' . PREFIX . 'rows SET n = n + 1 WHERE id = 1');
    $c->commit();
    echo "done\n";
}

/** Retries the transaction that the server chose to give up. */
function deadlock(Connection $c): void
{
    settle($c);
    $rival = null;
    for ($try = 1; ; $try++) {
        $c->beginTransaction();
        try {
            $c->executeStatement('UPDATE ' . PREFIX . 'rows SET n = n + 100 WHERE id = 1');
            $rival ??= popen('MODE=rival exec ' . escapeshellarg(PHP_BINARY) . ' ' . escapeshellarg(__FILE__), 'r');
            $try > 1 || fgets($rival);
            $c->executeStatement('UPDATE ' . PREFIX . 'rows SET n = n + 100 WHERE id = 2');
            $c->commit();
            break;
        } catch (DeadlockException $e) {
            saw('deadlock', [$e->getCode(), $try]);
            $c->rollBack();
            saw('rival', fgets($rival));
        }
    }
    saw('both', $c->fetchAllAssociative('SELECT * FROM ' . PREFIX . 'rows WHERE id < 4 ORDER BY id'));
    saw('rival ended', pclose($rival));
}

switch (getenv('MODE')) {
    case 'rival':
        rival(connection('pdo_mysql'));
        exit(0);
    case 'deadlock':
        deadlock(connection('pdo_mysql'));
        finish();
}
$native = [PDO::ATTR_EMULATE_PREPARES => false];
for ($round = 0; $round < ROUNDS; $round++) {
    foreach ([['pdo_mysql', []], ['pdo_mysql', $native], ['mysqli', []]] as [$driver, $options]) {
        $c = connection($driver, $options);
        saw("== $driver", count($options));
        schema($c);
        crud($c);
        builder($c);
        transactions($c);
        errors($c);
        $c->executeStatement('DROP TABLE ' . VISITS . ', ' . PLACES);
        $c->close();
    }
}
finish();
