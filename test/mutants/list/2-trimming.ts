import type { Mutant } from '../mutant.ts'

/** Invariant 2: Nothing is trimmed or deleted before every group that needs it has finished with it. */
export const TRIMMING: readonly Mutant[] = [
  {
    name: 'trim-pending',
    promise: 'an entry that is delivered and not acknowledged is not trimmed',
    file: 'src/pipeline/streams/trim-N.lua',
    from: "if group['pending'] > 0 then",
    to: "if group['pending'] < 0 then",
    noticedBy: [['test/integration/streams.test.ts', 'the janitor removes only what every group has acknowledged']],
  },
  {
    name: 'trim-undelivered',
    promise: 'an entry that was not delivered yet is not trimmed',
    file: 'src/pipeline/streams/trim-N.lua',
    from: "string.format('%.0f-%.0f', ms, seq + 1)",
    to: "string.format('%.0f-%.0f', ms + 1000000, seq + 1)",
    noticedBy: [['test/integration/streams.test.ts', 'the janitor removes only what every group has acknowledged']],
  },
  {
    name: 'trim-slowest',
    promise: 'an entry stays until the slowest of its groups has finished it',
    file: 'src/pipeline/streams/trim-N.lua',
    from: 'if not oldest or before(keep, oldest) then',
    to: 'if not oldest or before(oldest, keep) then',
    noticedBy: [['test/extended/pipeline-forms.test.ts', 'an event for several groups is stored once']],
  },
  {
    name: 'trim-missing-group',
    promise: 'nothing is trimmed while a declared group does not exist',
    file: 'src/pipeline/streams/trim-N.lua',
    from: 'return missing == 0 and oldest or nil',
    to: 'return oldest',
    noticedBy: [['test/integration/streams.test.ts', 'the janitor removes only what every group has acknowledged']],
  },
  {
    name: 'new-group-past',
    promise: 'a new group starts with the oldest entry that its stream still holds',
    file: 'src/pipeline/streams/createGroup-2.lua',
    from: "ARGV[1], start, 'MKSTREAM'",
    to: "ARGV[1], '$', 'MKSTREAM'",
    noticedBy: [
      [
        'test/extended/pipeline-forms.test.ts',
        'a group added to an existing stream processes exactly the entries still in it',
      ],
    ],
  },
  {
    name: 'old-group-work',
    promise: 'an undeclared group is refused while it has work',
    file: 'src/pipeline/streams/createGroup-2.lua',
    from: "return group['name']",
    to: '',
    noticedBy: [['test/extended/pipeline-forms.test.ts', 'an undeclared group is refused while it has work']],
  },
  {
    name: 'idle-consumers',
    promise: 'a consumer with pending entries is not removed',
    file: 'src/stores/redis/deleteIdleConsumers-1.lua',
    from: "consumer['pending'] == 0 and",
    to: '',
    noticedBy: [['test/integration/streams.test.ts', 'consumers that are long gone are removed']],
  },
  {
    name: 'barrier-waits',
    promise: 'a barrier waits for the entries that were in the pipeline',
    file: 'src/pipeline/streams/barrier.ts',
    from: '(count === 0 || compareIds(first!, last) > 0)',
    to: 'count >= 0',
    noticedBy: [['test/integration/streams.test.ts', 'a barrier waits for existing entries, wherever they are']],
  },
  {
    name: 'barrier-taken-apart',
    promise: 'a barrier waits for entries that were split and put back after its marks',
    file: 'src/pipeline/streams/barrier.ts',
    from: 'while ((await isolatedEvents(client, pipeline, partitions)) !== isolated)',
    to: 'while (isolated < 0)',
    noticedBy: [['test/integration/streams.test.ts', 'a barrier waits for existing entries, wherever they are']],
  },
]
