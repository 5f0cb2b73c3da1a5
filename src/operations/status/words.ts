import type { DamagedPart } from './system-status.ts'

/** The command that restores a damaged part from the archive; undefined when the part has no days. */
export function replayLine(tenant: string, { from, to }: Pick<DamagedPart, 'from' | 'to'>): string | undefined {
  return from === null || to === null ? undefined : `./ipid replay --tenant ${tenant} --from ${from} --to ${to}`
}

/** `850 ms`, `12.3 s`, `4 min`, `2.5 h`, `3.1 d` */
export function ageText(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`
  if (ms < 3_600_000) return `${Math.round(ms / 60_000)} min`
  if (ms < 86_400_000) return `${(ms / 3_600_000).toFixed(1)} h`
  return `${(ms / 86_400_000).toFixed(1)} d`
}

/** `512 B`, `1.5 MiB` */
export function bytesText(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB']
  const power = Math.min(units.length - 1, Math.max(0, Math.floor(Math.log2(Math.max(1, bytes)) / 10)))
  return `${(bytes / 1_024 ** power).toFixed(power === 0 ? 0 : 1)} ${units[power]}`
}
