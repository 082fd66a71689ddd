<?php
// SPDX-License-Identifier: Apache-2.0
// Illuminate's database layer, configured as Laravel's config/database.php does: native prepares, strict mode, a
// prefix, charset, collation, time zone and isolation level, all of which it sends by prepared statements at connect.
declare(strict_types=1);

require __DIR__ . '/lib.php';
foreach (['Database', 'Events', 'Pagination'] as $part) {
    require_once "Illuminate/$part/autoload.php";
}

use Illuminate\Container\Container;
use Illuminate\Database\Capsule\Manager as DB;
use Illuminate\Database\Eloquent\Model;
use Illuminate\Database\Eloquent\SoftDeletes;
use Illuminate\Database\Schema\Blueprint;
use Illuminate\Events\Dispatcher;
use Illuminate\Support\Carbon;

class Author extends Model
{
    protected $guarded = [];

    public function books()
    {
        return $this->hasMany(Book::class);
    }
}

class Book extends Model
{
    use SoftDeletes;

    protected $guarded = [];
    protected $casts = ['facts' => 'array', 'price' => 'decimal:2', 'sold' => 'boolean'];

    public function author()
    {
        return $this->belongsTo(Author::class);
    }

    public function tags()
    {
        return $this->belongsToMany(Tag::class)->withPivot('weight');
    }
}

class Tag extends Model
{
    public $timestamps = false;
    protected $guarded = [];
}

function config(array $more = []): array
{
    return $more + ['driver' => 'mysql', 'host' => getenv('DB_HOST'), 'port' => getenv('DB_PORT'),
        'database' => getenv('DB_NAME'), 'username' => getenv('DB_USER'), 'password' => getenv('DB_PASSWORD'),
        'charset' => 'utf8mb4', 'collation' => 'utf8mb4_unicode_ci', 'prefix' => PREFIX, 'prefix_indexes' => true,
        'strict' => true, 'engine' => null, 'timezone' => '+00:00', 'options' => []];
}

Carbon::setTestNow('2026-03-01 12:00:00');
$capsule = new DB(new Container());
$capsule->addConnection(config());
$capsule->addConnection(config(['isolation_level' => 'READ COMMITTED', 'timezone' => '+02:00']), 'committed');
$capsule->addConnection(config(['strict' => false, 'collation' => 'utf8mb4_general_ci']), 'lax');
$capsule->addConnection(config(['modes' => ['ANSI_QUOTES', 'STRICT_ALL_TABLES'], 'charset' => 'latin1',
    'collation' => 'latin1_swedish_ci']), 'ansi');
$capsule->addConnection(config(['options' => [PDO::ATTR_EMULATE_PREPARES => true]]), 'emulated');
$capsule->addConnection(config(['unix_socket' => getenv('DB_SOCKET'), 'options' => [
    PDO::MYSQL_ATTR_USE_BUFFERED_QUERY => false]]), 'unbuffered');
$capsule->addConnection(config(['options' => [PDO::ATTR_PERSISTENT => true]]), 'persistent');
$capsule->setEventDispatcher(new Dispatcher(new Container()));
$capsule->setAsGlobal();
$capsule->bootEloquent();

/** Closes a connection; the next use of it makes a new one. */
function purge(string $name): void
{
    global $capsule;
    $capsule->getDatabaseManager()->purge($name);
}

/** What each configuration asked the server for, as the server has it; twice, since others run in between. */
function settings(): void
{
    $sql = 'select @@session.sql_mode m, @@session.time_zone z, @@character_set_client c, @@collation_connection l, '
        . 'database() d';
    foreach (['default', 'committed', 'lax', 'ansi', 'emulated', 'unbuffered', 'persistent', 'default'] as $name) {
        saw("settings of $name", (array) DB::connection($name)->select($sql)[0]);
    }
    $variable = str_contains(DB::selectOne('select version() v')->v, 'MariaDB') ? 'tx_isolation' : 'transaction_isolation';
    foreach (['default', 'committed'] as $name) {
        saw("isolation of $name", DB::connection($name)->selectOne("select @@session.$variable v")->v);
    }
    // The hour differs by the connection's time zone, the instant does not.
    $at = fn ($name) => DB::connection($name)->selectOne("select from_unixtime(1767225600) t")->t;
    saw('time zones', [$at('default'), $at('committed')]);
    saw('strict refuses', thrown(fn () => DB::table('authors')->insert(['name' => str_repeat('x', 300)])));
    saw('lax cuts', DB::connection('lax')->table('authors')->insertGetId(['name' => str_repeat('y', 300)]) > 0);
    saw('cut to', strlen(DB::table('authors')->where('name', 'like', 'yyy%')->value('name')));
    DB::table('authors')->where('name', 'like', 'yyy%')->delete();
    saw('ansi quotes', DB::connection('ansi')->select('select "name" from "' . PREFIX . 'authors" limit 1'));
}

function migrations(): void
{
    $schema = DB::schema();
    foreach (['book_tag', 'books', 'tags', 'authors', 'bits', 'renamed'] as $table) {
        $schema->dropIfExists($table);
    }
    $schema->create('authors', function (Blueprint $t) {
        $t->id();
        $t->string('name', 100)->unique();
        $t->timestamps();
    });
    $schema->create('books', function (Blueprint $t) {
        $t->id();
        $t->foreignId('author_id')->constrained('authors')->cascadeOnDelete();
        $t->string('title')->index();
        $t->text('words')->nullable();
        $t->json('facts')->nullable();
        $t->decimal('price', 8, 2)->default(0);
        $t->boolean('sold')->default(false);
        $t->unique(['author_id', 'title']);
        $t->timestamps();
        $t->softDeletes();
    });
    $schema->create('tags', function (Blueprint $t) {
        $t->id();
        $t->string('name', 40)->charset('utf8mb4')->collation('utf8mb4_bin');
    });
    $schema->create('book_tag', function (Blueprint $t) {
        $t->foreignId('book_id')->constrained('books');
        $t->foreignId('tag_id')->constrained('tags');
        $t->integer('weight')->default(1);
        $t->primary(['book_id', 'tag_id']);
    });
    // The server lists them in no certain order.
    saw('columns of books', collect($schema->getColumnListing('books'))->sort()->values()->all());
    saw('type of price', $schema->getColumnType('books', 'price'));
    $schema->table('books', function (Blueprint $t) {
        $t->integer('pages')->unsigned()->default(0)->after('title');
        $t->string('isbn', 20)->nullable();
    });
    $schema->table('books', fn (Blueprint $t) => $t->dropColumn('isbn'));
    $schema->table('books', fn (Blueprint $t) => $t->string('title', 150)->change());
    saw('columns after', collect($schema->getColumnListing('books'))->sort()->values()->all());
    saw('there are', [$schema->hasTable('books'), $schema->hasTable('isbns'), $schema->hasColumn('books', 'pages'),
        $schema->hasColumn('books', 'isbn')]);
    $schema->create('bits', fn (Blueprint $t) => $t->integer('n'));
    $schema->rename('bits', 'renamed');
    saw('renamed', [$schema->hasTable('bits'), $schema->hasTable('renamed')]);
    $schema->disableForeignKeyConstraints();
    saw('orphan', DB::table('books')->insertGetId(['author_id' => 4711, 'title' => 'orphan']));
    DB::table('books')->truncate();
    $schema->enableForeignKeyConstraints();
    saw('orphan refused', thrown(fn () => DB::table('books')->insert(['author_id' => 4711, 'title' => 'orphan']))[1]);
    $schema->drop('renamed');
}

function builder(): void
{
    $ids = [];
    foreach (['Ada', 'Blaise', 'Charles', 'Dōgen', 'Étienne'] as $name) {
        $ids[] = DB::table('authors')->insertGetId(['name' => $name]);
    }
    saw('ids', $ids);
    saw('pdo id', DB::getPdo()->lastInsertId());
    saw('select changes no id', [DB::table('authors')->count(), DB::getPdo()->lastInsertId()]);
    foreach (range(1, 40) as $n) {
        $rows[] = ['author_id' => $ids[$n % 5], 'title' => "Volume $n", 'pages' => $n * 7, 'price' => $n / 3];
    }
    saw('many', DB::table('books')->insert($rows));
    saw('ignored', DB::table('authors')->insertOrIgnore([['name' => 'Ada'], ['name' => 'Fermat']]));
    saw('duplicate', thrown(fn () => DB::table('authors')->insert(['name' => 'Ada'])));
    saw('upsert', DB::table('books')->upsert([
        ['author_id' => $ids[0], 'title' => 'Volume 5', 'pages' => 500], ['author_id' => $ids[0], 'title' => 'New', 'pages' => 1],
    ], ['author_id', 'title'], ['pages']));
    saw('update or insert', [DB::table('authors')->updateOrInsert(['name' => 'Gauss'], ['name' => 'Gauß']),
        DB::table('authors')->orderBy('id')->pluck('name')->all()]);
    saw('update', DB::table('books')->where('pages', '>', 200)->update(['sold' => true]));
    // Without CLIENT_FOUND_ROWS, which Laravel does not ask for, a no-op update changes none.
    saw('update of nothing', DB::table('books')->where('pages', '>', 200)->update(['sold' => true]));
    saw('increment', DB::table('books')->where('title', 'Volume 1')->increment('pages', 3, ['words' => 'plus']));
    saw('where', DB::table('books')->whereIn('author_id', [$ids[1], $ids[2]])->whereBetween('pages', [20, 120])
        ->where('title', 'like', 'Volume 1%')->orWhereNull('author_id')->orderByDesc('id')->pluck('title')->all());
    saw('join', DB::table('books')->join('authors', 'authors.id', '=', 'books.author_id')
        ->select('authors.name', DB::raw('count(*) as n'), DB::raw('sum(pages) as pages'))->groupBy('authors.name')
        ->havingRaw('count(*) > ?', [1])->orderBy('authors.name')->get()->all());
    saw('aggregates', [DB::table('books')->max('pages'), DB::table('books')->avg('pages'),
        DB::table('books')->where('sold', true)->exists(), DB::table('books')->sum('price')]);
    saw('union', DB::table('books')->select('title as t')->where('pages', '<', 20)
        ->union(DB::table('authors')->select('name as t'))->orderBy('t')->get()->pluck('t')->all());
    saw('sub', DB::table('authors')->whereExists(fn ($q) => $q->select(DB::raw(1))->from('books')
        ->whereColumn('books.author_id', 'authors.id')->where('pages', '>', 250))->orderBy('id')->pluck('name')->all());
    saw('page', DB::table('books')->orderBy('id')->paginate(7, ['title', 'pages'], 'page', 3)->toArray());
    saw('simple page', DB::table('books')->orderBy('id')->simplePaginate(5, ['title'], 'page', 2)->items());
    saw('cursor page', array_column(DB::table('books')->orderBy('id')->cursorPaginate(6, ['id', 'title'])->items(), 'title'));
    saw('json', [DB::table('books')->where('title', 'New')->update(['facts' => json_encode(['a' => ['b' => 7]])]),
        DB::table('books')->where('facts->a->b', 7)->value('title'),
        DB::table('books')->where('title', 'New')->update(['facts->a->c' => 8])]);
    saw('for update', DB::transaction(fn () => DB::table('books')->where('pages', '>', 270)->lockForUpdate()->count()));
    saw('shared', DB::transaction(fn () => DB::table('books')->where('pages', '>', 270)->sharedLock()->count()));
    $chunks = [];
    DB::table('books')->orderBy('id')->chunk(15, function ($rows) use (&$chunks) {
        $chunks[] = [$rows->count(), DB::table('authors')->where('id', $rows->first()->author_id)->value('name')];
    });
    saw('chunks', $chunks);
    $seen = 0;
    DB::table('books')->chunkById(9, function ($rows) use (&$seen) {
        $seen += DB::table('books')->whereIn('id', $rows->pluck('id'))->update(['words' => 'chunked']);
    });
    saw('chunks by id', $seen);
    saw('lazy', DB::table('books')->orderBy('id')->lazy(10)->map(fn ($b) => $b->pages)->sum());
    foreach (['default', 'unbuffered'] as $name) {
        $sum = 0;
        foreach (DB::connection($name)->table('books')->orderBy('id')->cursor() as $book) {
            $sum += $book->pages;
        }
        saw("cursor of $name", $sum);
    }
    saw('delete', DB::table('books')->where('title', 'New')->delete());
}

function transactions(): void
{
    $count = fn () => DB::table('tags')->count();
    DB::transaction(fn () => DB::table('tags')->insert(['name' => 'kept']));
    saw('thrown out of it', thrown(fn () => DB::transaction(function () {
        DB::table('tags')->insert(['name' => 'lost']);
        throw new RuntimeException('on purpose');
    }))[0]);
    saw('rolled back', $count());
    DB::beginTransaction();
    $outer = DB::table('tags')->insertGetId(['name' => 'outer']);
    DB::beginTransaction();
    DB::table('tags')->insert(['name' => 'inner']);
    DB::beginTransaction();
    DB::table('tags')->insert(['name' => 'innermost']);
    saw('level', DB::transactionLevel());
    DB::rollBack();
    saw('savepoint undone', $count());
    DB::commit();
    DB::rollBack(0);
    saw('all undone', [$count(), DB::transactionLevel()]);
    saw('ids go on', DB::table('tags')->insertGetId(['name' => 'after']) - $outer);
    $tries = 0;
    $attempt = function () use (&$tries) {
        $tries++;
        DB::table('tags')->insert(['id' => 1, 'name' => 'duplicate']);
    };
    saw('tries', thrown(fn () => DB::transaction($attempt, 3))[1]);
    saw('tried', $tries);
    // Two connections at once, one in a transaction: with more such scripts than backends they would wait for each other.
    $c = DB::connection('committed');
    ALONE && $c->transaction(function () use ($c) {
        $before = $c->table('tags')->count();
        DB::table('tags')->insert(['name' => 'by another']);
        saw('committed sees another', $c->table('tags')->count() - $before);
    });
    // Implicit commits: what Laravel believes and what the server does differ, and both must stay as they are.
    DB::beginTransaction();
    DB::table('tags')->insert(['name' => 'implicit']);
    DB::statement('create table if not exists ' . PREFIX . 'ddl (n int)');
    saw('after ddl', [DB::getPdo()->inTransaction(), DB::transactionLevel(), thrown(fn () => DB::commit())[0]]);
    purge('default');
    saw('kept by the ddl', $count());
    DB::schema()->drop('ddl');
}

function eloquent(): void
{
    $ada = Author::where('name', 'Ada')->firstOrFail();
    $book = $ada->books()->create(['title' => 'Notes', 'price' => '12.5', 'facts' => ['year' => 1843]]);
    saw('created', [$book->id > 40, $book->wasRecentlyCreated, $book->created_at->toDateTimeString()]);
    $tags = collect(['math', 'history', 'Ünicode'])->map(fn ($n) => Tag::create(['name' => $n]));
    $book->tags()->sync([$tags[0]->id => ['weight' => 3], $tags[2]->id => ['weight' => 1]]);
    saw('synced', $book->tags()->orderBy('name')->get()->map(fn ($t) => [$t->name, $t->pivot->weight])->all());
    saw('sync again', array_map('count', $book->tags()->sync([$tags[1]->id])));
    $book->update(['title' => 'Notes, revised', 'sold' => true]);
    saw('fresh', $book->fresh()->only('title', 'price', 'sold', 'facts'));
    saw('eager', Author::with(['books' => fn ($q) => $q->orderBy('pages')->limit(50)])->withCount('books')->orderBy('id')
        ->get()->map(fn ($a) => [$a->name, $a->books_count, $a->books->pluck('title')->take(3)->all()])->all());
    saw('has', Author::whereHas('books.tags', fn ($q) => $q->where('name', 'history'))->pluck('name')->all());
    saw('first or create', [Author::firstOrCreate(['name' => 'Hypatia'])->wasRecentlyCreated,
        Author::firstOrCreate(['name' => 'Hypatia'])->wasRecentlyCreated,
        Author::updateOrCreate(['name' => 'Hypatia'], ['name' => 'Hypatia of Alexandria'])->name]);
    $book->delete();
    saw('trashed', [Book::where('title', 'like', 'Notes%')->count(), Book::onlyTrashed()->count(), $book->restore()]);
    saw('model page', Book::orderBy('id')->paginate(4, ['*'], 'page', 2)->pluck('title')->all());
    saw('model upsert', Tag::upsert([['id' => $tags[0]->id, 'name' => 'Math'], ['id' => 900, 'name' => 'late']], 'id', ['name']));
    saw('find many', Tag::findMany([$tags[0]->id, 900])->pluck('name')->all());
    saw('not found', thrown(fn () => Author::findOrFail(99999))[0]);
    saw('cascade', [Author::where('name', 'Hypatia of Alexandria')->delete(), Author::count()]);
}

function statements(): void
{
    saw('positional', (array) DB::selectOne('select ? + ? as s, concat(?, ?) as t, ? as n', [1, 2, 'a', 'ß', null]));
    saw('named', (array) DB::selectOne('select :a + :b as s', ['a' => 1, 'b' => 2.5]));
    saw('affecting', DB::affectingStatement('update ' . PREFIX . 'books set pages = pages + 1 where pages > ?', [200]));
    saw('unprepared', DB::unprepared('update ' . PREFIX . 'books set pages = pages - 1 where pages > 201'));
    saw('an error', thrown(fn () => DB::select('select nonesuch from ' . PREFIX . 'books')));
    saw('after the error', DB::selectOne('select 1 as one')->one);
    saw('a table without', thrown(fn () => DB::table('nonesuch')->get())[1]);
    DB::statement('set @kept = ?', [41]);
    saw('a user variable', DB::selectOne('select @kept + 1 as v')->v);
    // A user variable keeps the backend to the connection's end, and this script is about to use another one.
    purge('default');
    DB::table('tags')->insert(['id' => 950, 'name' => 'explicit']);
    DB::table('tags')->insert(['name' => 'counted']);
    saw('last id by sql', DB::selectOne('select last_insert_id() = ? as same', [DB::getPdo()->lastInsertId()])->same);
    saw('row count by sql', [DB::update('update ' . PREFIX . 'tags set name = ? where id = 900', ['later']),
        DB::selectOne('select row_count() as n')->n]);
    saw('blob', strlen(DB::selectOne('select ? as b', [random_bytes(70000)])->b));
    $one = DB::connection('emulated');
    saw('emulated', [(array) $one->selectOne('select ? as a, ? as b', ["it's", 5]), $one->table('books')->count()]);
    $p = DB::connection('persistent');
    saw('persistent', $p->table('authors')->where('name', 'Ada')->value('name'));
    purge('persistent');
    saw('persistent again', DB::connection('persistent')->selectOne('select @kept as v, database() as d'));
}

function tidy(): void
{
    foreach (['book_tag', 'books', 'tags', 'authors'] as $table) {
        DB::schema()->drop($table);
    }
    saw('gone', DB::schema()->hasTable('authors'));
}

for ($round = 0; $round < ROUNDS; $round++) {
    migrations();
    builder();
    settings();
    transactions();
    eloquent();
    statements();
    tidy();
}
finish();
