import type { CompanyRow } from '../../../../schemas/companies.ts'
import { Badge } from '../design/badge.tsx'
import { Text } from '../design/layout.tsx'
import { Tooltip } from '../design/tooltip.tsx'
import { fitReason, fitWord } from '../lib/fit.ts'
import { TEXTS } from '../texts/texts.ts'

const texts = TEXTS.components.companyFit

/** How well a company fits what the tenant says about good ones. The tooltip gives the reasons. */
export function Fit({ company }: { readonly company: Pick<CompanyRow, 'fit' | 'fit_reasons'> }) {
  if (company.fit === '') return <>–</>
  const word = fitWord(company.fit)
  return (
    <Tooltip text={fitReason(company)}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard reads the reasons too */}
      <span tabIndex={0} role="note" aria-label={texts.fit(word)}>
        {company.fit === 'poor' ? (
          <Text as="span" tone="soft" isSmall>
            {word}
          </Text>
        ) : (
          <Badge tone={company.fit === 'good' ? 'good' : 'neutral'}>{word}</Badge>
        )}
      </span>
    </Tooltip>
  )
}
