import type { LetterCopy } from '../../../../schemas/backup.ts'
import type { Pipeline } from '../../../pipeline/declaration/pipeline.ts'
import { type Block, CLAIM_ID_FIELD, decodeBlock } from '../../../pipeline/event/block.ts'

/** What a dead letter says of itself. */
export interface Letter {
  readonly group: string
  readonly stream: string
  /** The event; undefined for an entry that was no block. */
  readonly block: Block | undefined
  readonly claimId: Buffer | undefined
}

export function readLetter({ fields }: Pick<LetterCopy, 'fields'>): Letter {
  const bytes = fields.map((field) => Buffer.from(field, 'base64'))
  const value = (name: string) => {
    const at = bytes.findIndex((field, i) => i % 2 === 0 && field.toString('latin1') === name)
    return at < 0 ? undefined : bytes[at + 1]
  }
  const text = (name: string) => value(name)?.toString('utf8') ?? ''
  return { group: text('group'), stream: text('stream'), block: blockOf(bytes), claimId: value(CLAIM_ID_FIELD) }
}

function blockOf(fields: readonly Buffer[]): Block | undefined {
  try {
    return decodeBlock(fields)
  } catch {
    return undefined
  }
}

/** Whether a stream has events. What else a stream may carry has rows with other columns. */
export function carriesEvents({ steps }: Pipeline, stream: string): boolean {
  return steps.some(({ from, to }) => from === stream || to === stream)
}

/** Where a group stands to the step that claims events for dedup. */
export function positionOfGroup({ steps }: Pipeline, group: string): 'before' | 'claims' | 'after' {
  const claiming = steps.findIndex(({ stages }) => stages.some(({ claims }) => claims))
  const at = steps.findIndex((step) => step.group === group)
  if (claiming < 0 || (at >= 0 && at < claiming)) return 'before'
  return at === claiming ? 'claims' : 'after'
}
