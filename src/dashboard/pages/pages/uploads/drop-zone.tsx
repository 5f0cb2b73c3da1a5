import './drop-zone.css'
import { FileUp } from 'lucide-preact'
import { useEffect, useState } from 'preact/hooks'
import { classes } from '../../design/classes.ts'
import { Icon } from '../../design/icon.tsx'

interface DropZoneProps {
  /** What to drop. */
  readonly title: string
  /** Which files, and what happens with them. */
  readonly about: string
  readonly onFiles: (files: FileList | null) => void
  readonly isOver: boolean
  /** Notes about allowed files. */
  readonly note: string | undefined
}

/** Accepts a chosen or dropped file. */
export function DropZone({ title, about, onFiles, isOver, note }: DropZoneProps) {
  return (
    <label class={classes('ui-drop-zone', isOver && 'is-over')}>
      <input type="file" onChange={(event) => onFiles(event.currentTarget.files)} />
      <Icon of={FileUp} size={24} />
      <strong>{title}</strong>
      <span>{about}</span>
      <span>{note ?? '\u00a0'}</span>
    </label>
  )
}

/** Accepts files dropped anywhere on the page. Returns whether the user drags files over it. */
export function useDroppedFiles(onFiles: (files: FileList | null) => void): boolean {
  const [isOver, setOver] = useState(false)
  useEffect(() => {
    const leaving = new AbortController()
    const { signal } = leaving
    // Otherwise the browser would open the file instead of the page.
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
