import type { Mutant } from '../mutant.ts'

const FULL_DISK = 'test/integration/clickhouse-full-disk.test.ts'
const HOLES = 'test/integration/redis-file-holes.test.ts'

/** What becomes of what the embedded stores write to a disk that is full. */
export const FULL_DISK_WRITES: readonly Mutant[] = [
  {
    name: 'failed-write-ends',
    promise: 'the engine ends when a write to its disk has failed',
    file: 'src/embedded/clickhouse/write-watch.ts',
    from: 'if (isNew && (!mayBeReaders || this.#wasFull)) end(failed)',
    to: 'void [isNew, end]',
    noticedBy: [['test/unit/embedded/clickhouse-write-watch.test.ts', 'the engine is ended when a write has failed']],
  },
  {
    name: 'failed-write-before-reader',
    promise: 'a write that failed while nobody read is found before a reader can excuse it',
    file: 'src/embedded/clickhouse/write-watch.ts',
    from: 'if (this.#isAtRest || performance.now() - this.#lookedAtMs >= LOOK_EVERY_MS) await this.#lookSoon()\n    this',
    to: 'this',
    noticedBy: [['test/unit/embedded/clickhouse-write-watch.test.ts', 'at rest it looks seldom']],
  },
  {
    name: 'failed-write-behind-short-rest',
    promise: 'a write that failed in a rest, however short, is found before a reader can excuse it',
    file: 'src/embedded/clickhouse/write-watch.ts',
    from: 'this.#isAtRest || performance.now() - this.#lookedAtMs >= LOOK_EVERY_MS',
    to: 'performance.now() - this.#lookedAtMs >= LOOK_EVERY_MS',
    noticedBy: [['test/unit/embedded/clickhouse-write-watch.test.ts', 'at rest it looks seldom']],
  },
  {
    name: 'failed-write-not-answered',
    promise: 'an insert is not answered when a write of it failed',
    file: 'src/embedded/clickhouse/engine.ts',
    from: 'await this.#writes.look()\n    return () => consume(',
    to: 'return () => consume(',
    noticedBy: [[FULL_DISK, 'a disk that is full costs no row']],
  },
  {
    name: 'defined-with-room',
    promise: 'nothing is defined on a disk that is full',
    file: 'src/embedded/clickhouse/engine.ts',
    from: 'demandRoom(head, this.#path)',
    to: 'void demandRoom',
    noticedBy: [[FULL_DISK, 'a disk that is full costs no row']],
  },
  {
    name: 'disk-kept-free',
    promise: 'ClickHouse begins nothing that would take the last of its disk',
    file: 'src/embedded/clickhouse/access.ts',
    from: '<keep_free_space_bytes>${keptFree}</keep_free_space_bytes>',
    to: '<keep_free_space_bytes>${keptFree * 0}</keep_free_space_bytes>',
    noticedBy: [[FULL_DISK, 'a disk that is full costs no row']],
  },
  {
    name: 'merged-parts-kept',
    promise: 'parts that a merge took the place of stay until the disk has what it wrote',
    file: 'src/embedded/clickhouse/access.ts',
    from: '<old_parts_lifetime>${OLD_PARTS_S}</old_parts_lifetime>',
    to: '',
    noticedBy: [['test/integration/clickhouse-embedded.test.ts', 'it stops when asked']],
  },
  {
    name: 'holes-taken-out',
    promise: 'what Redis wrote behind a full disk is there after its next start',
    file: 'src/embedded/redis/server.ts',
    from: 'const bytes = removeHoles(dir)',
    to: 'const bytes = 0 * removeHoles.length',
    noticedBy: [[HOLES, 'zeros between commands']],
  },
  {
    name: 'holes-alone',
    promise: 'nothing is taken out of a file of Redis that cannot be read for another reason',
    file: 'src/stores/redis/durability/file-holes.ts',
    from: '    } else {\n      return []\n    }',
    to: '    } else {\n      return holes\n    }',
    noticedBy: [[HOLES, 'a file that cannot be read for another reason']],
  },
]
