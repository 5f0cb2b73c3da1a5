import { useEffect, useState } from 'preact/hooks'

interface DropZoneProps {
  readonly onFiles: (files: FileList | null) => void
  readonly isOver: boolean
  /** What may be said of the files. */
  readonly note: string | undefined
}

/** Takes a file that is chosen, and shows where one may be dropped. */
export function DropZone({ onFiles, isOver, note }: DropZoneProps) {
  return (
    <label class={`drop-zone${isOver ? ' over' : ''}`}>
      <input type="file" onChange={(event) => onFiles(event.currentTarget.files)} />
      <strong>Drop a file of events here, or choose one</strong>
      <span>NDJSON or CSV, plain or gzip. You see a preview first; nothing is stored before.</span>
      <span class="soft">{note ?? '\u00a0'}</span>
    </label>
  )
}

/** Takes files that are dropped anywhere on the page. Returns whether some are above it. */
export function useDroppedFiles(onFiles: (files: FileList | null) => void): boolean {
  const [isOver, setOver] = useState(false)
  useEffect(() => {
    const leaving = new AbortController()
    const { signal } = leaving
    // A file that nobody takes would take the place of the page.
    const over = (event: DragEvent) => {
      event.preventDefault()
      setOver(true)
    }
    const leave = ({ relatedTarget }: DragEvent) => {
      if (relatedTarget === null) setOver(false)
    }
    const drop = (event: DragEvent) => {
      event.preventDefault()
      setOver(false)
      onFiles(event.dataTransfer?.files ?? null)
    }
    window.addEventListener('dragover', over, { signal })
    window.addEventListener('dragleave', leave, { signal })
    window.addEventListener('drop', drop, { signal })
    return () => leaving.abort()
  }, [onFiles])
  return isOver
}
