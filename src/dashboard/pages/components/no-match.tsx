import { SearchX, X } from 'lucide-preact'
import type { ComponentChildren } from 'preact'
import { Button } from '../design/button.tsx'
import { Row, Text } from '../design/layout.tsx'
import { EmptyState } from '../design/notice.tsx'
import { TEXTS } from '../texts/texts.ts'

const texts = TEXTS.components.noMatch

/** A filter that leaves nothing, alone or with others. */
export interface RemovableFilter {
  /** As in `ActiveFilter`. Unlike the label, no other filter has it. */
  readonly name: string
  readonly label: string
  /** Its value, in words. */
  readonly words: string
  readonly onRemove: () => void
  /** The result without this filter. */
  readonly left?: ComponentChildren
}

interface NoMatchProps {
  /** "No company matches" */
  readonly title: string
  readonly filters: readonly RemovableFilter[]
  /** Another way to more. */
  readonly children?: ComponentChildren
}

/** Shown where filters leave nothing: each of them, with a button that removes it. */
export function NoMatch({ title, filters, children }: NoMatchProps) {
  return (
    <EmptyState icon={SearchX} title={title}>
      <p>{texts.about(filters.length)}</p>
      {filters.map(({ name, label, words, onRemove, left }) => (
        <Row key={name} gap={2}>
          <Button size="s" icon={X} aria-label={texts.remove(label, words)} onClick={onRemove}>
            {texts.filter(label, words)}
          </Button>
          {left !== undefined && (
            <Text as="span" tone="soft" isSmall role="status">
              {left}
            </Text>
          )}
        </Row>
      ))}
      {children}
    </EmptyState>
  )
}
