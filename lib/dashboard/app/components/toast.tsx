import { useEffect, useState } from 'preact/hooks';

const SHOWN_MS = 5000;

interface Message {
  id: number;
  text: string;
}

let last = 0;
let show: (text: string) => void = () => {};

/** Says that something was done, for a moment. What went wrong is said where it was asked for. */
export function toast(text: string): void {
  show(text);
}

export function Toasts() {
  const [messages, setMessages] = useState<readonly Message[]>([]);
  useEffect(() => {
    show = (text) => {
      const id = ++last;
      setMessages((now) => [...now.slice(-2), { id, text }]);
      setTimeout(() => setMessages((now) => now.filter((message) => message.id !== id)), SHOWN_MS);
    };
    return () => {
      show = () => {};
    };
  }, []);
  return (
    <div class="toasts" role="status" aria-live="polite">
      {messages.map(({ id, text }) => (
        <div class="toast fade" key={id}>
          {text}
        </div>
      ))}
    </div>
  );
}
