import type { LineChunk } from '../../../declaration/source.ts'

/** Where the lines of a chunk stand in their upload. */
export type LineNumbers = Pick<LineChunk, 'firstLine' | 'gaps'>

/** As text: the first line, then for each gap the lines before it and the blank lines in it: `1,3:10,1:1`. */
export function formatLineNumbers({ firstLine, gaps }: LineNumbers): string {
  return [firstLine, ...gaps.map(({ after, blank }) => `${after}:${blank}`)].join()
}

/** @param text from `formatLineNumbers` */
export function parseLineNumbers(text: string): LineNumbers {
  const [firstLine, ...gaps] = text.split(',')
  return {
    firstLine: Number(firstLine),
    gaps: gaps.map((gap) => {
      const [after, blank] = gap.split(':')
      return { after: Number(after), blank: Number(blank) }
    }),
  }
}
