import { readdirSync, readFileSync } from 'node:fs'

/** Whether a process runs; a zombie does not count. */
export function isAlive(pid: number): boolean {
  try {
    return !/^\d+ \(.*\) Z/s.test(readFileSync(`/proc/${pid}/stat`, 'latin1'))
  } catch {
    return false
  }
}

/** Running processes whose command line, folder or variables contain `text`. Linux only. */
export function processesNaming(text: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .map(Number)
    .filter((pid) => isAlive(pid) && namesText(pid, text))
}

/** Its arguments, with a zero byte after each, or its own title; '' when it is gone. */
export function commandLine(pid: number): string {
  return readOf(pid, 'cmdline')
}

function namesText(pid: number, text: string): boolean {
  return commandLine(pid).includes(text) || readOf(pid, 'environ').includes(text)
}

function readOf(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'latin1')
  } catch {
    return ''
  }
}

/** CPU time of a process so far; a tick is 10 ms. */
export function cpuMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ')[1]!.split(' ')
  return 10 * (Number(fields[11]) + Number(fields[12]))
}
