import type { Mutant } from '../mutant.ts'

/** Invariant 6: The hot path works per block. */
export const BLOCKS: readonly Mutant[] = [
  {
    name: 'lone-request-held-back',
    promise: 'after a commit of few requests, the next request does not wait for others',
    file: 'src/pipeline/streams/group-commit.ts',
    from: 'requests >= TOGETHER_MIN && ',
    to: '',
    noticedBy: [['test/unit/redis/group-commit.test.ts', 'after a commit of few requests, or many events']],
  },
  {
    name: 'full-block-held-back',
    promise: 'a block that is full goes out at once',
    file: 'src/pipeline/streams/group-commit.ts',
    from: 'this.#awaited?.end()\n    this.#closed.push',
    to: 'this.#closed.push',
    noticedBy: [['test/unit/redis/group-commit.test.ts', 'a full block is not held back for requests that may come']],
  },
  {
    name: 'few-rows-linger',
    promise: 'a few rows wait for more, even at low load',
    file: 'src/pipeline/runner/sink-worker.ts',
    from: 'countRows(runs) >= QUIET_SHARE * rowsMax',
    to: 'countRows(runs) >= 0 * rowsMax',
    noticedBy: [['test/unit/runner/sink-gather.test.ts', 'a tenth of an insert is sent when no more rows come']],
  },
]
