import { escaped } from '../../../run/escaped.ts'

/** Languages of samples: that of a fence, and its name on the page. */
const LANGUAGES = [
  { id: 'sh', name: 'curl' },
  { id: 'ts', name: 'TypeScript' },
  { id: 'python', name: 'Python' },
  { id: 'go', name: 'Go' },
]

/** The look of samples: of the languages, only the chosen one is shown. */
export const SAMPLES_STYLE = `#samples { box-sizing: border-box; padding: 20px 20px 0; font: 14px/1.5 sans-serif; color: #3b4151; }
#samples summary { cursor: pointer; font-weight: 700; }
#samples fieldset { display: inline-block; margin: 16px 0 0; padding: 4px 12px 8px; border: 1px solid; border-radius: 4px; }
#samples label { margin-right: 12px; }
#samples pre { overflow-x: auto; padding: 12px; border-radius: 4px; background: rgb(127 127 127 / 0.12); font: 13px/1.5 monospace; tab-size: 4; }
${LANGUAGES.map(({ id }) => `#samples:has(#in-${id}:checked) pre:not(.${id})`).join(',\n')} { display: none; }
.dark-mode #samples { color: #e4e6e6; }
`

/**
 * The page of samples as HTML: its second headings, their text, and their code in each language. Links lead to pages of the repository, so
 * only their text is kept.
 */
export function samplesHtml(markdown: string): string {
  const sections = markdown.split('\n## ').slice(1)
  const choices = LANGUAGES.map(
    ({ id, name }, i) =>
      `<input type="radio" name="language" id="in-${id}"${i === 0 ? ' checked' : ''}> <label for="in-${id}">${name}</label>`,
  )
  const parts = sections.map((section) => {
    const [title, ...lines] = section.split('\n')
    const text = lines
      .slice(
        0,
        lines.findIndex((line) => line.startsWith('```')),
      )
      .join(' ')
      .trim()
    const codes = [...section.matchAll(/^```(\w+)\n(.*?)^```$/gms)].map(
      ([, language, code]) => `<pre class="${language}" tabindex="0">${escaped(code!.trimEnd())}</pre>`,
    )
    return [`<h2>${escaped(title!)}</h2>`, ...(text === '' ? [] : [`<p>${proseHtml(text)}</p>`]), ...codes].join('\n')
  })
  return `<details id="samples">
<summary>Samples in ${LANGUAGES.map(({ name }) => name).join(', ')}</summary>
<fieldset><legend>Language</legend>
${choices.join('\n')}
</fieldset>
${parts.join('\n')}
</details>`
}

function proseHtml(markdown: string): string {
  return escaped(markdown)
    .replaceAll(/\[([^[\]]+)\]\([^()[\]]+\)/g, '$1')
    .replaceAll(/`([^`]+)`/g, '<code>$1</code>')
}
